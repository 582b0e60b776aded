// Asking: a form, what to expect before paying, the answer.

import { answerCard, brief, questionLink } from "/answers.js";
import { api, loading, make, session, table, trouble } from "/elements.js";
import { amount, plain, shortened } from "/pictures.js";

const USUAL = { percentiles: ["25", "50", "75", "95"], epsilon: ["0.1", "0.5", "1", "2"] };

/** The columns that can be chosen: of the right kind, with all facts that the question needs. */
const fitting = (set, { holds, facts }) => Object.entries(set.columns)
  .filter(([, column]) => (!holds || column.kind === holds) && facts.every((fact) => column[fact] !== undefined))
  .sort(([, one], [, other]) => isUnlisted(one) - isUnlisted(other)).map(([name]) => name);
/** Values that nobody lists need a δ: such columns come last. */
const isUnlisted = (column) => Number(column.kind === "categories" && !column.values.length);
const MOST_PAIRS = 100;
/** Two columns at a time, as a question names several. */
const pairs = (columns) => columns.flatMap((one, i) => columns.slice(i + 1).map((other) => `${one},${other}`));
/** What happens if a field is left empty: the end of its help. */
const hint = ({ help }) => help.split("; ").at(-1).replace(/\.$/, "");

/** The field of a parameter, by its kind; nothing if there is nothing to choose. */
function fieldOf(parameter, set, taken) {
  const { name, label, kind, required, choices } = parameter, initial = parameter.default ?? "";
  if (kind === "column") {
    const columns = fitting(set, parameter).filter((each) => required || !(taken.length && taken.includes(each) && fitting(set, parameter).length === 1));
    if (!columns.length) return null;
    taken.push(columns[0]);
    if (parameter.several) columns.push(...pairs(columns).slice(0, MOST_PAIRS));
    return choice(name, label, required ? columns : ["", ...columns], "nothing: all together");
  }
  if (kind === "flag") return tick(name, label);
  if (kind === "word") return choice(name, label, required || initial ? [initial, ...choices.filter((each) => each !== initial)].filter(Boolean) : ["", ...choices], "chosen for you");
  if (kind === "percentiles") return text(name, label, "50", "0 to 100; several with commas", [...USUAL.percentiles, ...choices], kind);
  return text(name, label, String(initial || parameter.usual || ""), required ? "" : hint(parameter), [], kind);
}

/** The fields of a question; what is rarely changed is folded. */
function fieldsOf(question, set) {
  const taken = [], made = question.parameters.map((each) => [each, fieldOf(each, set, taken)]).filter(([, field]) => field);
  const rare = made.filter(([each]) => each.rare).map(([, field]) => field);
  return [...made.filter(([each]) => !each.rare).map(([, field]) => field), epsilonField(), rare.length ? make("details", { class: "more" }, make("summary", {}, "More options"), ...rare) : null].filter(Boolean);
}

const epsilonField = () => text("epsilon", "ε", "0.5", "smaller is more private, and costs less", USUAL.epsilon);

function choice(name, label, options, none = "", shown = {}) {
  const list = make("select", { id: `f-${name}`, name }, ...options.map((each) => make("option", { value: each }, shown[each] || each.replaceAll(",", ", ") || none)));
  return make("div", {}, make("label", { for: `f-${name}` }, label), list);
}

function text(name, label, value, hint = "", presets = [], kind = "") {
  const input = make("input", { id: `f-${name}`, name, value, "data-kind": kind, autocomplete: "off", spellcheck: "false", inputmode: kind === "count" ? "numeric" : "text" });
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
    const { name, value } = field, { kind } = field.dataset;
    if (name === "dataset" || name === "kind") continue;
    if (field.type === "checkbox") { if (field.checked) body[name] = true; }
    else if (kind === "count" && /^\d+$/.test(value.trim())) body[name] = Number(value);
    else if (value.trim() && (kind === "columns" || kind === "labels" || (kind === "percentiles" && value.includes(",")))) body[name] = value.split(",").map((each) => each.trim());
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

const declared = (name) => session.questions.find((each) => each.name === name);

/** A form that says what to expect while it is filled in, and asks once; `request` gives its path and body, `place` its address. */
function asking(form, request, place, factsOf) {
  const expectation = make("div", { class: "before", id: "before", "aria-live": "polite" }, make("h3", {}, "Before you ask"), make("p", { class: "soft" }, "Working out what to expect …"));
  const answer = make("div", { "aria-live": "polite", id: "answer" }), button = make("button", { class: "main", disabled: true, "aria-describedby": "before" }, "Ask");
  let waiting, latest = 0, facts = factsOf();

  const expect = async () => {
    const mine = (latest += 1), [path, asked] = request();
    expectation.setAttribute("aria-busy", "true");
    try {
      const told = await api(`${path}/expect`, asked);
      if (mine !== latest || !form.isConnected) return;
      expectation.replaceChildren(...expectationOf(told));
      button.textContent = told.refusal ? `Cannot ask for ε = ${told.charged}` : told.recorded ? "Show the recorded answer (free)" : told.chance ? `Ask anyway for ε = ${told.charged} (the answer would be a guess)` : `Ask for ε = ${told.charged}`;
      button.disabled = Boolean(told.refusal);
      history.replaceState(null, "", place(asked));
    } catch (error) {
      if (mine !== latest) return;
      expectation.replaceChildren(make("h3", {}, "Before you ask"), make("p", { class: "bad" }, error.message));
      button.textContent = "Ask";
      button.disabled = true;
    }
    expectation.setAttribute("aria-busy", "false");
  };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (button.disabled) return;
    button.disabled = true;
    answer.replaceChildren(loading("Asking. Answers are sent at fixed times, so that their timing reveals nothing."));
    if (answer.getBoundingClientRect().top > innerHeight) answer.scrollIntoView({ block: "start" });
    try {
      const [path, asked] = request(), told = await api(path, asked);
      answer.replaceChildren(answerCard(told, session.sets.find((each) => each.name === told.question.dataset)));
      session.sets = await api("/v1/datasets");
      facts.replaceWith((facts = factsOf()));
    } catch (error) {
      answer.replaceChildren(trouble(error));
    }
    expect();
  });
  form.append(expectation, button);
  const soon = () => { button.disabled = true; clearTimeout(waiting); waiting = setTimeout(expect, 250); };
  return [soon, make("div", { class: "columns" }, make("div", {}, form), make("div", {}, answer, facts))];
}

export async function askView(wanted, kindWanted, options) {
  const set = session.sets.find((each) => each.name === wanted) || session.sets.find((each) => each.questions.length);
  if (!set?.questions.length) return make("section", { class: "card" }, make("h2", {}, "Nothing to ask"), make("p", { class: "soft" }, "You may not ask about any data set yet. The curator can add you to one."));
  const kind = set.questions.includes(kindWanted) ? kindWanted : set.questions[0];
  const kinds = make("fieldset", {}, make("legend", {}, "Question"), make("div", { class: "kinds" },
    ...set.questions.map((each) => make("label", {}, make("input", { type: "radio", name: "kind", value: each, checked: each === kind }), declared(each).title))));
  const fields = make("div", {}), form = make("form", { class: "card", "aria-label": "Question" });
  const select = make("select", { id: "dataset", name: "dataset", onchange: () => { location.hash = `#/ask/${encodeURIComponent(select.value)}`; } },
    ...session.sets.map((each) => make("option", { value: each.name, selected: each === set }, each.title ? `${each.name}: ${each.title}` : each.name)));
  const kindNow = () => form.querySelector("[name=kind]:checked").value;
  form.append(make("label", { for: "dataset" }, "Data set"), select, kinds, fields);
  const [soon, view] = asking(form, () => [`/v1/datasets/${encodeURIComponent(set.name)}/${kindNow()}`, questionOf(form)],
    (asked) => questionLink({ dataset: set.name, kind: kindNow(), options: asked }), () => factsCard(session.sets.find((each) => each.name === set.name)));
  const renew = () => {
    fields.replaceChildren(...fieldsOf(declared(kindNow()), set));
    if (set.budgets.length > 1) fields.append(choice("budget", "Budget", ["", ...set.budgets.map((each) => each.name)], "the one of the question"));
    soon();
  };
  kinds.addEventListener("change", renew);
  fields.addEventListener("input", soon);
  renew();
  fill(fields, options);
  return view;
}

// The same in SQL

const quoted = (name) => (/^[A-Za-z_]\w*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`);

/** Statements that can be asked of a data set, from its public facts. */
function statementsOf(set) {
  const of = (kind) => Object.entries(set.columns).filter(([, column]) => column.kind === kind).map(([name]) => quoted(name));
  const [number] = of("numbers"), [group] = of("categories"), from = `FROM ${quoted(set.name)}`;
  return set.graph ? [] : [`SELECT COUNT(*) ${from}`, ...(group ? [`SELECT ${group} ${from} GROUP BY ${group} ORDER BY COUNT(*) DESC LIMIT 1`, `SELECT ${group}, COUNT(*) ${from} GROUP BY ${group}`] : []),
    ...(number ? [`SELECT MEDIAN(${number}) ${from}`] : []), ...(number && group ? [`SELECT ${group} ${from} GROUP BY ${group} ORDER BY MEDIAN(${number}) DESC LIMIT 1`] : [])];
}

export async function sqlView(_, __, options) {
  const form = make("form", { class: "card", "aria-label": "Question" }), examples = session.sets.flatMap(statementsOf);
  const statement = make("textarea", { id: "f-statement", name: "statement", rows: "5", spellcheck: "false", maxlength: "10000", class: "code" }, options.get("statement") || examples[0] || "");
  form.append(make("label", { for: "f-statement" }, "One SELECT statement ", make("span", { class: "soft" }, "it is parsed, never run")), statement, epsilonField());
  const pick = (text) => { statement.value = text; statement.dispatchEvent(new Event("input", { bubbles: true })); statement.focus(); };
  const help = () => make("section", { class: "card", "aria-label": "Examples" }, make("h2", {}, "One statement is one question"),
    make("p", { class: "soft" }, "Counts, sums, means, percentiles, the largest groups (ORDER BY with LIMIT) and groups above a threshold (HAVING) of one data set. Other statements are refused before anything is charged."),
    ...examples.slice(0, 12).map((each) => make("button", { type: "button", class: "example", onclick: () => pick(each) }, make("code", {}, each))));
  const [soon, view] = asking(form, () => ["/v1/sql", questionOf(form)], (asked) => `#/sql?${new URLSearchParams(asked)}`, help);
  form.addEventListener("input", soon);
  fill(form, options);
  soon();
  return view;
}

function expectationOf(told) {
  const lines = [make("h3", {}, "Before you ask"), make("p", { class: told.chance && !told.recorded ? "bad" : "" }, told.sentence)];
  if (told.sample) lines.push(...sampleOf(told.sample));
  if (told.recorded) return [...lines, make("p", {}, make("span", { class: "badge good" }, "free"), " This question was asked before. The recorded answer is free, and drawing again would not tell you more.")];
  const refusal = told.refusal ? [make("p", { class: "bad", role: "alert" }, told.refusal)] : [];
  return [...lines, meter(told.budget, told.charged), make("p", { class: "soft small" }, `ε = ${told.charged} of ${told.budget.left} left in “${told.budget.name}”. Protects ${told.protects}.`), ...refusal];
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
  card.append(make("p", { class: "soft" }, `${size} Answers protect ${set.protects}. These facts are public; the rows stay with the curator.`.trim()));
  const rows = Object.entries(set.columns).map(([name, column]) => [make("strong", {}, name), describe(column)]);
  if (rows.length) card.append(table(["column", "public facts"], rows));
  card.append(...set.budgets.map(budgetPart));
  return card;
}

function describe(column) {
  if (isUnlisted(column)) return "values are not listed; ask with a δ";
  if (column.kind === "categories") return shortened(column.values.join(", "), 200);
  if (column.kind === "names") return "public names of the rows";
  const range = column.lower === undefined && column.upper === undefined ? "numbers" : `${column.lower === undefined ? "any" : plain(column.lower)} to ${column.upper === undefined ? "any" : plain(column.upper)}`;
  return `${range}${column.step ? `, steps of ${plain(column.step)}` : ""}`;
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
  const more = [budget.largest ? `At most ε = ${budget.largest} a question.` : "", budget.your_cap ? `You have spent ${budget.spent_by_you} of your ${budget.your_cap}.` : "", `Protects ${budget.protects}.`].filter(Boolean).join(" ");
  return make("div", {}, make("p", { class: "row apart" }, make("span", {}, make("strong", {}, `ε = ${budget.left}`), ` of ${budget.epsilon}${delta} left in “${budget.name}”`), state), meter(budget), make("p", { class: "soft small" }, more));
}
