// Questions and answers in words, tables and pictures; and what to copy.

import { make, table } from "/elements.js";
import { chosenGroups, dots, drawnTree, plain, ranking, shortened } from "/pictures.js";

export const TITLES = { percentile: "Percentile", "most-frequent": "Most frequent", "top-groups": "Top groups", "top-k": "Top nodes", tree: "Decision tree" };
const PROTECTS = { "replace-one": "what one record says", "add-remove-row": "whether a record is there, and what it says", "add-remove-edge": "whether an edge is there" };
const SEVERAL = { quartiles: [25, 50, 75], deciles: [10, 20, 30, 40, 50, 60, 70, 80, 90] };

export const protects = (relation) => PROTECTS[relation] || relation;
const percentiles = (p) => SEVERAL[p] || (Array.isArray(p) ? p : [p]);
const isTable = (answer) => answer !== null && typeof answer === "object" && !Array.isArray(answer);
export const shownValue = (value) => (typeof value === "number" ? plain(value) : Array.isArray(value) ? value.map(shownValue).join(", ") : String(value));

function ordinal(p) {
  if (Number(p) === 50) return "Median";
  const end = { 1: "st", 2: "nd", 3: "rd" };
  return /^\d+$/.test(String(p)) ? `${p}${Math.floor(p / 10) % 10 === 1 ? "th" : end[p % 10] || "th"} percentile` : `Percentile ${p}`;
}

/** What was asked, in a line. */
export function inWords({ kind, options }) {
  const by = options.by && kind !== "top-groups" ? `, for every ${options.by}` : "";
  if (kind === "percentile") {
    const many = percentiles(options.p), whose = options.release === "label" ? "Whose " : "";
    const name = many.length > 1 ? `Percentiles ${many.join(", ")}` : ordinal(many[0]);
    if (options.k > 1) return `The ${options.k} nearest to the ${name.toLowerCase()} of ${options.column}`;
    return `${whose}${whose ? name.toLowerCase() : name} of ${options.column}${by}`;
  }
  if (kind === "most-frequent") return `${options.k > 1 ? `The ${options.k} most frequent` : "Most frequent"} ${options.column}${by}`;
  if (kind === "top-groups") {
    const statistic = options.statistic || (options.p === undefined ? "median" : "quantile");
    return `${options.k > 1 ? `The ${options.k} of ${options.by}` : `The ${options.by}`} with the ${options.smallest ? "smallest" : "largest"} ${statistic}${options.p === undefined ? "" : ` (${options.p} %)`} of ${options.value}`;
  }
  if (kind === "top-k") return `The ${options.k > 1 ? `${options.k} nodes` : "node"} of largest ${options.metric || "betweenness"}`;
  return `Decision tree for ${options.target}`;
}

/** The address of a question, to be shared: it says what to ask, not who did or what came of it. */
export function questionLink({ dataset, kind, options }) {
  const asked = Object.entries(options).map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(Array.isArray(value) ? value.join(",") : value)}`);
  return `#/ask/${encodeURIComponent(dataset)}/${kind}?${asked.join("&")}`;
}

export function answerCard(told, set) {
  const card = make("section", { class: "card", "aria-label": "Answer" }, make("p", { class: "asked-for" }, inWords(told.question)));
  const facts = { "ε": told.epsilon, protects: protects(told.neighbours), mechanism: told.mechanism };
  const link = told.own === false || !told.charge ? make("a", { href: questionLink(told.question) }, "Link to the question") : make("a", { href: `#/releases/${encodeURIComponent(told.charge)}` }, "Permalink");
  card.append(...answerParts(told, set).filter(Boolean), told.accuracy ? make("p", { class: "soft" }, told.accuracy) : "",
    make("dl", { class: "facts" }, ...Object.entries(facts).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))),
      make("div", {}, make("dt", {}, "charge"), make("dd", {}, told.reused ? make("span", { class: "badge good" }, "recorded, free") : told.charge || "none"))),
    copies(told, link));
  return card;
}

function answerParts(told, set) {
  const { answer } = told, { kind, options } = told.question, column = set?.columns[options.column];
  if (kind === "tree") return [make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Picture of the tree" }, drawnTree(answer))];
  const numbers = (value) => (Array.isArray(value) ? value : [value]).every((each) => typeof each === "number");
  if (isTable(answer)) {
    const rows = Object.entries(answer);
    if (kind === "percentile" && column && rows.every(([, value]) => numbers(value))) return [dots(rows.map(([name, value]) => [name, [value].flat()]), column)];
    return [table([options.by || "group", "answer"], rows.map(([name, value]) => [name, shownValue(value)]))];
  }
  if (kind === "percentile" && options.release === "label") return [make("p", { class: "answer" }, [answer].flat().map(shownValue).join(", "))];
  if (kind === "percentile") {
    if (!Array.isArray(answer)) return [make("p", { class: "answer" }, shownValue(answer)), column && numbers(answer) ? dots([["", [answer]]], column) : null];
    const names = percentiles(options.p).map((p) => (Number(p) === 50 ? "median" : `${p} %`));
    if (column && numbers(answer)) return [dots(answer.map((value, i) => [names[i], [value]]), column)];
    return [table(["percentile", "answer"], answer.map((value, i) => [names[i], shownValue(value)]))];
  }
  const several = Array.isArray(answer) ? answer : [answer];
  const large = make("p", { class: "answer" }, several.map(shownValue).join(", "));
  if (kind === "top-groups" && set && !options.ordered) return [large, chosenGroups(set.columns[options.by].values, several.map(String))];
  return several.length > 1 ? [ranking(several)] : [large];
}

function copies(told, link) {
  const { dataset, kind, options } = told.question;
  const python = (value) => (value === true ? "True" : value === false ? "False" : JSON.stringify(value));
  const positional = { percentile: "column", "most-frequent": "column", "top-groups": "value" }[kind];
  const rest = Object.entries(options).filter(([name]) => name !== positional).map(([name, value]) => `${name}=${python(value)}`);
  const given = [dataset, ...(positional ? [options[positional]] : [])].map(python);
  const texts = {
    Python: `import dampen\nservice = dampen.connect("${location.origin}", token="...")\nservice.${kind.replaceAll("-", "_")}(${[...given, ...rest].join(", ")})`,
    curl: `curl -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\\n  -d '${JSON.stringify(options).replaceAll("'", "'\\''")}' \\\n  ${location.origin}/v1/datasets/${encodeURIComponent(dataset)}/${kind}`,
    JSON: JSON.stringify(told, null, 2),
  };
  const shown = make("pre", { hidden: true, tabindex: "0" }), said = make("span", { class: "soft small", role: "status" });
  const copy = async (name) => {
    shown.textContent = texts[name];
    shown.hidden = false;
    try {
      await navigator.clipboard.writeText(texts[name]);
      said.textContent = `${name} copied.`;
    } catch { said.textContent = "Copy it from below."; }
  };
  return make("div", { class: "copies" }, make("div", { class: "row" }, make("span", { class: "soft small" }, "Copy as"),
    ...Object.keys(texts).map((name) => make("button", { type: "button", class: "quiet", onclick: () => copy(name) }, name)), link, said), shown);
}

/** An answer in a few words. */
export function brief(release) {
  if (release.question?.kind === "tree") return "a decision tree";
  const { answer } = release;
  return shortened(isTable(answer) ? Object.entries(answer).map(([name, value]) => `${name}: ${shownValue(value)}`).join("; ") : shownValue(answer), 80);
}
