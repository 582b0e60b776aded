// Questions and answers in words, tables and pictures; and what to copy.

import { make, session, table } from "/elements.js";
import { bars, chosenGroups, dots, drawnTree, plain, ranking, shortened } from "/pictures.js";

const PROTECTS = { "replace-one": "what one record says", "add-remove-row": "whether a record is there, and what it says", "add-remove-edge": "whether an edge is there", "add-remove-unit": "one person, with all their rows" };
const SEVERAL = { quartiles: [25, 50, 75], deciles: [10, 20, 30, 40, 50, 60, 70, 80, 90] };

const protects = (relation) => PROTECTS[relation] || relation;
const percentiles = (p) => SEVERAL[p] || (Array.isArray(p) ? p : [p]);
const isTable = (answer) => answer !== null && typeof answer === "object" && !Array.isArray(answer);
export const shownValue = (value) => (typeof value === "number" ? plain(value) : Array.isArray(value) ? value.map(shownValue).join(", ") : String(value));

/** A group of several columns, which JSON writes as a list, in plain words. */
function readable(name) {
  if (!name.startsWith("[")) return name;
  try { return JSON.parse(name).join(", "); } catch { return name; }
}

function ordinal(p) {
  if (Number(p) === 50) return "Median";
  const end = { 1: "st", 2: "nd", 3: "rd" };
  return /^\d+$/.test(String(p)) ? `${p}${Math.floor(p / 10) % 10 === 1 ? "th" : end[p % 10] || "th"} percentile` : `Percentile ${p}`;
}

const titleOf = (kind) => session.questions.find((each) => each.name === kind)?.title || kind;

/** What was asked, in a line. */
export function inWords({ kind, options }) {
  const groups = String(options.by || "").replaceAll(",", " and "), by = options.by && kind !== "top-groups" ? `, for every ${groups}` : "", many = options.k > 1;
  if (kind === "percentile") {
    const points = percentiles(options.p), name = points.length > 1 ? `Percentiles ${points.join(", ")}` : ordinal(points[0]);
    return `${name} of ${options.value}${by}`;
  }
  if (kind === "percentile-record") return `${many ? `The ${options.k} records nearest to the` : "Record at the"} ${ordinal(options.p).toLowerCase()} of ${options.value}`;
  if (kind === "most-frequent") return `${many ? `The ${options.k} most frequent` : "Most frequent"} ${options.value}${by}`;
  if (kind === "top-groups") {
    const statistic = options.statistic || (options.p === undefined ? "median" : "quantile");
    return `${many ? `The ${options.k} of ${groups}` : `The ${groups}`} with the ${options.smallest ? "smallest" : "largest"} ${statistic}${options.p === undefined ? "" : ` (${options.p} %)`} of ${options.value}`;
  }
  if (kind === "top-k") return `The ${many ? `${options.k} nodes` : "node"} of largest ${options.metric || "betweenness"}`;
  const about = options.target ? ` for ${options.target}` : options.value ? ` of ${options.value}` : "";
  return `${titleOf(kind)}${about}${by}`;
}

/** The address of a question, to be shared: it says what to ask, not who did or what came of it. */
export function questionLink({ dataset, kind, options }) {
  const asked = Object.entries(options).map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(Array.isArray(value) ? value.join(",") : value)}`);
  return `#/ask/${encodeURIComponent(dataset)}/${kind}?${asked.join("&")}`;
}

export function answerCard(told, set) {
  const card = make("section", { class: "card", "aria-label": "Answer" }, make("p", { class: "asked-for" }, inWords(told.question)));
  const facts = { "ε": told.epsilon, protects: told.protects || protects(told.neighbours), mechanism: told.mechanism };
  const link = told.own === false || !told.charge ? make("a", { href: questionLink(told.question) }, "Link to the question") : make("a", { href: `#/releases/${encodeURIComponent(told.charge)}` }, "Permalink");
  card.append(...answerParts(told, set).filter(Boolean), told.accuracy ? make("p", { class: told.accuracy.chance ? "bad" : "soft" }, told.accuracy.sentence ?? told.accuracy) : "",
    make("dl", { class: "facts" }, ...Object.entries(facts).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))),
      make("div", {}, make("dt", {}, "charge"), make("dd", {}, told.reused ? make("span", { class: "badge good" }, "recorded, free") : told.charge || "none"))),
    copies(told, link));
  return card;
}

const isModel = ({ question }) => question?.shape === "model" || question?.kind === "tree";
const numbers = (value) => [value].flat().every((each) => typeof each === "number");

/** An answer by its shape: a model, a table of groups, points, a ranking, a set or a value. */
function answerParts(told, set) {
  const { answer } = told, { kind, options, shape } = told.question, column = set?.columns[options.value];
  // A name can be a number, and is no point between bounds; releases of 0.2 have no shape.
  const drawable = (value) => column?.lower !== undefined && (!shape || shape === "value" || shape === "points") && numbers(value);
  if (isModel(told)) return [answer.tree ? make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Picture of the tree" }, drawnTree(answer)) : make("pre", { tabindex: "0" }, JSON.stringify(answer, null, 2))];
  if (shape === "number") return numberParts(told, isTable(answer) ? null : make("p", { class: "answer" }, shownValue(answer)));
  if (isTable(answer)) {
    const rows = Object.entries(answer);
    if (rows.every(([, value]) => drawable(value))) return [dots(rows.map(([name, value]) => [readable(name), [value].flat()]), column)];
    return [table([options.by || "group", "answer"], rows.map(([name, value]) => [readable(name), shownValue(value)]))];
  }
  const several = [answer].flat();
  if (Array.isArray(answer) && (shape === "points" || (!shape && kind === "percentile"))) {
    const names = percentiles(options.p).map((p) => (Number(p) === 50 ? "median" : `${p} %`));
    if (drawable(answer)) return [dots(answer.map((value, i) => [names[i], [value]]), column)];
    return [table(["percentile", "answer"], answer.map((value, i) => [names[i], shownValue(value)]))];
  }
  const large = make("p", { class: "answer" }, several.map(shownValue).join(", "));
  if (drawable(answer)) return [large, dots([["", [answer].flat()]], column)];
  const groups = set?.columns[options.by]?.values;
  if (groups && !options.ordered) return [large, chosenGroups(groups, several.map(String))];
  if (shape === "ranking" && isTable(told.numbers)) return [ranking(several), bars(leaves(told.numbers, told.intervals?.ends))];
  if (shape === "name" && typeof told.numbers === "number" && told.intervals) return [large, make("p", { class: "soft" }, `Noisy lead over all others: ${plain(told.numbers)}; the true one is ${plain(told.intervals.ends[0])} to ${plain(told.intervals.ends[1])} (95 %).`)];
  return several.length > 1 && shape !== "set" ? [ranking(several)] : [large];
}

/** Noisy numbers with their intervals: one large, several as bars. */
function numberParts(told, large) {
  const ends = told.intervals?.ends, rows = leaves(told.answer, ends);
  const confidence = `${100 * (told.intervals?.confidence ?? 0.95)} %`;
  if (large) return [large, bars(rows), ends ? make("p", { class: "soft" }, `${confidence} interval: ${plain(ends[0])} to ${plain(ends[1])}`) : ""];
  return [bars(rows), table(["name", "answer", `${confidence} interval`], rows.map(([name, value, pair]) => [name, plain(value), pair ? `${plain(pair[0])} to ${plain(pair[1])}` : ""]))];
}

function leaves(answer, ends, names = []) {
  if (typeof answer !== "object") return [[names.map(readable).join(", "), answer, ends]];
  return Object.entries(answer).flatMap(([name, each]) => leaves(each, ends?.[name], [...names, name]));
}

function copies(told, link) {
  const { dataset, kind, options } = told.question;
  const python = (value) => (value === true ? "True" : value === false ? "False" : JSON.stringify(value));
  const positional = session.questions.find((each) => each.name === kind)?.parameters.find((each) => each.kind === "column" && each.required)?.name;
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
  if (isModel(release)) return "a model";
  const { answer } = release;
  return shortened(isTable(answer) ? Object.entries(answer).map(([name, value]) => `${readable(name)}: ${shownValue(value)}`).join("; ") : shownValue(answer), 80);
}
