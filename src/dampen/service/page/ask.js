// Asking: a form, what to expect before paying, the answer.

import { answerCard, brief, protects, questionLink, TITLES } from "/answers.js";
import { api, loading, make, session, table, trouble } from "/elements.js";
import { amount, plain, shortened } from "/pictures.js";

const WHOLE = new Set(["k", "depth"]);
const FIELDS = {
  percentile: (facts) => [
    choice("column", "Column", gridded(facts)), text("p", "Percentile", "50", "0 to 100; several with commas", ["25", "50", "75", "95", "quartiles", "deciles"]),
    ...everyGroup(facts, 1), ...whose(facts),
  ],
  "most-frequent": (facts) => [
    choice("column", "Column", named(facts, "categories")), text("k", "How many", "", "one if empty"), ...everyGroup(facts, 2),
  ],
  "top-groups": (facts) => [
    choice("value", "Values", gridded(facts)), choice("by", "Groups", named(facts, "categories")),
    choice("statistic", "Statistic", ["median", "mean", "quantile", "trimmed-mean", "sum"]),
    text("p", "Percent", "", "for quantile and trimmed mean"), text("k", "How many", "", "one if empty"), tick("smallest", "The smallest instead"),
  ],
  "top-k": () => [text("k", "How many", "3"), choice("metric", "Influence is", ["betweenness", "degree", "triangles", "eigenvector", "core", "pagerank"])],
  tree: (facts) => [choice("target", "Class to predict", named(facts, "categories").reverse()), text("depth", "Levels", "", "chosen for you if empty")],
};

const named = (facts, kind) => Object.entries(facts.columns).filter(([, column]) => column.kind === kind).map(([name]) => name);
const gridded = (facts) => named(facts, "numbers").filter((name) => facts.columns[name].step !== undefined);

function everyGroup(facts, least) {
  const groups = named(facts, "categories");
  return groups.length < least ? [] : [choice("by", "For every", ["", ...groups], "nothing: all together")];
}

const whose = (facts) => (named(facts, "names").length === 1 ? [choice("release", "Answer with", ["", "label"], "the value", { label: `the ${named(facts, "names")[0]}` }), text("k", "How many", "", `of ${named(facts, "names")[0]}; one if empty`)] : []);

function choice(name, label, options, none = "", shown = {}) {
  const list = make("select", { id: `f-${name}`, name }, ...options.map((each) => make("option", { value: each }, shown[each] || each || none)));
  return make("div", {}, make("label", { for: `f-${name}` }, label), list);
}

function text(name, label, value, hint = "", presets = []) {
  const input = make("input", { id: `f-${name}`, name, value, autocomplete: "off", spellcheck: "false", inputmode: WHOLE.has(name) ? "numeric" : "text" });
  const mark = () => buttons.forEach((each) => each.setAttribute("aria-pressed", String(each.textContent === input.value)));
  const buttons = presets.map((each) => make("button", { type: "button", onclick: () => {
    input.value = each;
    input.dispatchEvent(new Event("input", { bubbles: true }));
  } }, each));
  input.addEventListener("input", mark);
  mark();
  return make("div", {}, make("label", { for: `f-${name}` }, `${label} `, make("span", { class: "soft" }, hint)), input,
    buttons.length ? make("div", { class: "presets", role: "group", "aria-label": `${label}: usual values` }, ...buttons) : null);
}

const tick = (name, label) => make("label", { class: "tick" }, make("input", { type: "checkbox", name }), label);

function questionOf(form) {
  const body = {};
  for (const field of form.querySelectorAll("[name]")) {
    const { name, value } = field;
    if (name === "dataset" || name === "kind") continue;
    if (field.type === "checkbox") { if (field.checked) body[name] = true; }
    else if (WHOLE.has(name) && /^\d+$/.test(value.trim())) body[name] = Number(value);
    else if (name === "p" && value.includes(",")) body[name] = value.split(",").map((each) => each.trim());
    else if (value.trim()) body[name] = value.trim();
  }
  return body;
}

function fill(form, options) {
  for (const [name, value] of options) {
    const field = form.querySelector(`#f-${CSS.escape(name)}`) || form.querySelector(`[type=checkbox][name="${CSS.escape(name)}"]`);
    if (field?.type === "checkbox") field.checked = value === "true";
    else if (field) field.value = value;
    field?.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

export async function askView(wanted, kindWanted, options) {
  const set = session.sets.find((each) => each.name === wanted) || session.sets[0];
  if (!set) return make("section", { class: "card" }, make("h2", {}, "Nothing to ask"), make("p", { class: "soft" }, "There is no data set that you may ask. The curator can add you to one."));
  const kind = set.questions.includes(kindWanted) ? kindWanted : set.questions[0];
  const kinds = make("fieldset", {}, make("legend", {}, "Question"), make("div", { class: "kinds" },
    ...set.questions.map((each) => make("label", {}, make("input", { type: "radio", name: "kind", value: each, checked: each === kind }), TITLES[each]))));
  const fields = make("div", {}), form = make("form", { class: "card", "aria-label": "Question" });
  const expectation = make("div", { class: "before", "aria-live": "polite" }), answer = make("div", { "aria-live": "polite", id: "answer" });
  const button = make("button", { class: "main", disabled: true }, "Ask");
  const select = make("select", { id: "dataset", name: "dataset", onchange: () => { location.hash = `#/ask/${encodeURIComponent(select.value)}`; } },
    ...session.sets.map((each) => make("option", { value: each.name, selected: each === set }, each.title ? `${each.name}: ${each.title}` : each.name)));
  const kindNow = () => form.querySelector("[name=kind]:checked").value;
  const path = () => `/v1/datasets/${encodeURIComponent(set.name)}/${kindNow()}`;
  let waiting, latest = 0, facts = factsCard(set);

  const expect = async () => {
    const mine = (latest += 1), asked = questionOf(form);
    expectation.setAttribute("aria-busy", "true");
    try {
      const told = await api(`${path()}/expect`, asked);
      if (mine !== latest) return;
      expectation.replaceChildren(...expectationOf(told));
      button.textContent = told.recorded ? "Show the recorded answer (free)" : `Ask for ε = ${told.charged}`;
      button.disabled = false;
      history.replaceState(null, "", questionLink({ dataset: set.name, kind: kindNow(), options: asked }));
    } catch (error) {
      if (mine !== latest) return;
      expectation.replaceChildren(make("h3", {}, "Before you ask"), make("p", { class: "bad" }, error.message));
      button.textContent = "Ask";
      button.disabled = true;
    }
    expectation.setAttribute("aria-busy", "false");
  };
  const soon = () => { button.disabled = true; clearTimeout(waiting); waiting = setTimeout(expect, 250); };
  const renew = () => {
    fields.replaceChildren(...FIELDS[kindNow()](set), text("epsilon", "ε", "0.5", "smaller is more private, and costs less", ["0.1", "0.5", "1", "2"]));
    if (set.budgets.length > 1) fields.append(choice("budget", "Budget", ["", ...set.budgets.map((each) => each.name)], "the one of the question"));
    soon();
  };
  form.append(make("label", { for: "dataset" }, "Data set"), select, kinds, fields, expectation, button);
  kinds.addEventListener("change", renew);
  fields.addEventListener("input", soon);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (button.disabled) return;
    button.disabled = true;
    answer.replaceChildren(loading("Asking. Answers leave at fixed steps of time, so that the time says nothing."));
    if (answer.getBoundingClientRect().top > innerHeight) answer.scrollIntoView({ block: "start" });
    try {
      answer.replaceChildren(answerCard(await api(path(), questionOf(form)), set));
      session.sets = await api("/v1/datasets");
      facts.replaceWith((facts = factsCard(session.sets.find((each) => each.name === set.name))));
    } catch (error) {
      answer.replaceChildren(trouble(error));
    }
    expect();
  });
  expectation.replaceChildren(make("h3", {}, "Before you ask"), make("p", { class: "soft" }, "Working out what to expect …"));
  renew();
  fill(fields, options);
  return make("div", { class: "columns" }, make("div", {}, form), make("div", {}, answer, facts));
}

function expectationOf(told) {
  const lines = [make("h3", {}, "Before you ask"), make("p", {}, told.sentence)];
  if (told.sample) lines.push(...sampleOf(told.sample));
  if (told.recorded) return [...lines, make("p", {}, make("span", { class: "badge good" }, "free"), " This was asked before: the recorded answer costs nothing, and repeating the draw would tell nothing new.")];
  return [...lines, meter(told.budget, told.charged), make("p", { class: "soft small" }, `ε = ${told.charged} of ${told.budget.left} left in “${told.budget.name}”; ${plain(told.candidates)} candidates. Protects ${protects(told.neighbours)}.`)];
}

function sampleOf(sample) {
  const rows = (sample.answers || []).slice(0, 3).map(([each, count]) => {
    const bar = make("span", { class: "bar" });
    bar.style.width = `${(count / sample.draws) * 100}%`;
    return make("li", {}, make("span", {}, `${shortened(brief({ answer: each }), 40)} `, make("span", { class: "soft small" }, `${count} ×`)), bar);
  });
  return [make("p", {}, sample.sentence), rows.length ? make("ul", { class: "tries" }, ...rows) : ""];
}

function factsCard(set) {
  const card = make("section", { class: "card", "aria-label": "Public facts" }, make("h2", {}, set.title || set.name));
  const size = [set.rows ? `At most ${plain(set.rows)} rows.` : "", set.graph ? `A graph of ${plain(set.graph.nodes)} nodes.` : "", set.version ? `Version ${set.version}.` : ""].filter(Boolean).join(" ");
  card.append(make("p", { class: "soft" }, `${size} These facts are public; the rows stay with the curator.`));
  const rows = Object.entries(set.columns).map(([name, column]) => [make("strong", {}, name), describe(column)]);
  if (rows.length) card.append(table(["column", "public facts"], rows));
  card.append(...set.budgets.map(budgetPart));
  return card;
}

function describe(column) {
  if (column.kind === "categories") return shortened(column.values.join(", "), 200);
  if (column.kind === "names") return "public names of the rows";
  return `${plain(column.lower)} to ${plain(column.upper)}${column.step ? `, steps of ${plain(column.step)}` : ""}`;
}

/** What is left of a budget, and what a question would take of it. */
function meter(budget, charged = "0") {
  const total = amount(budget.epsilon), left = Math.max(0, amount(budget.left)), asked = Math.min(left, amount(charged));
  const bars = [make("span", { class: "left" }), make("span", { class: "asked" })];
  bars[0].style.width = `${((left - asked) / total) * 100}%`;
  bars[1].style.width = `${(asked / total) * 100}%`;
  return make("div", { class: "meter", role: "img", "aria-label": `${Math.round((left / total) * 100)} % left${asked ? `, ${Math.round((asked / total) * 100)} % asked for` : ""}` }, ...bars);
}

export function budgetPart(budget) {
  const state = budget.status === "open" ? null : make("span", { class: "badge bad" }, budget.status);
  const delta = budget.delta ? `, δ = ${budget.delta}` : "";
  const more = [budget.largest ? `At most ε = ${budget.largest} a question.` : "", budget.your_cap ? `You have spent ${budget.spent_by_you} of your ${budget.your_cap}.` : "", `Protects ${protects(budget.neighbours)}.`].filter(Boolean).join(" ");
  return make("div", {}, make("p", { class: "row apart" }, make("span", {}, make("strong", {}, `ε = ${budget.left}`), ` of ${budget.epsilon}${delta} left in “${budget.name}”`), state), meter(budget), make("p", { class: "soft small" }, more));
}
