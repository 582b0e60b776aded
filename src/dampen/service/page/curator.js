// What curators do: budgets, data sets, tokens; who asked what, and the audit of all acts.

import { api, dialogOf, download, field, make, session, table, trouble, valueOf, when } from "/elements.js";
import { budgetPart } from "/ask.js";
import { limitFields, limitsOf, registrationCard } from "/register.js";
import { amount, plain, shortened, spending } from "/pictures.js";

const PARTS = { budgets: ["Budgets", budgetsView], datasets: ["Data sets", datasetsView], tokens: ["Tokens", tokensView], questions: ["Questions", questionsView], audit: ["Audit", auditView] };
const PAGE = 50;

export async function curatorView(again, what) {
  const part = what in PARTS ? what : "budgets";
  const tabs = Object.entries(PARTS).map(([name, [title]]) => make("a", { href: `#/curator/${name}`, "aria-current": name === part ? "page" : null }, title));
  return make("div", {}, make("nav", { class: "tabs", "aria-label": "Curator" }, ...tabs), await PARTS[part][1](again));
}

// Budgets

async function budgetsView(again) {
  const [{ charges }, { budgets, witness }] = await Promise.all([api("/v1/activity"), api("/v1/budgets")]);
  const cards = budgets.map((budget) => budgetCard(budget, charges.filter((each) => each.budget === budget.name.toLowerCase()).reverse(), again));
  const copies = witness ? null : make("p", { class: "soft small" }, "This ledger has no witness, so copies are not detected. Run dampen budget witness on the server.");
  return make("div", {}, make("h1", {}, "Budgets"), make("div", { class: "pairs" }, ...cards), newBudgetCard(again), copies);
}

function budgetCard(budget, charges, again) {
  const path = `/v1/budgets/${encodeURIComponent(budget.name)}`, why = () => field("why", "Why", { help: "For the record.", maxlength: "1000" });
  const acts = {
    Thaw: ["The budget will pay again.", () => [why(), ...(budget.status === "restored" ? [field("spent", "Spent since the backup", { value: "0" })] : [])], (of) => api(`${path}/thaw`, { why: of("why") || "", ...(budget.status === "restored" ? { spent: of("spent") } : {}) })],
    Freeze: ["The budget pays nothing until it is thawed. Recorded answers stay free, and waiting questions are ended.", () => [why()], (of) => api(`${path}/freeze`, { why: of("why") || "" })],
    Raise: [`The budget may spend ε = ${budget.epsilon} in total. It cannot be lowered.`, () => [field("epsilon", "ε in all", { value: budget.epsilon, required: true })], (of) => api(`${path}/raise`, { epsilon: of("epsilon") })],
    Cap: ["Without a cap, one analyst may spend all of it.", () => [field("epsilon", "ε in all", { required: true }), field("analyst", "Analyst", { help: "Leave empty for every analyst without a cap of their own." })], (of) => api(`${path}/cap`, { epsilon: of("epsilon"), ...(of("analyst") ? { analyst: of("analyst") } : {}) })],
    Close: ["The budget never pays again. This cannot be undone. Recorded answers stay free.", () => [why()], (of) => api(`${path}/close`, { why: of("why") || "" })],
  };
  const possible = budget.status === "closed" ? [] : [budget.status === "open" ? "Freeze" : "Thaw", "Raise", "Cap", "Close"];
  const buttons = possible.map((name) => make("button", { type: "button", class: "quiet", onclick: () => {
    const [text, fields, act] = acts[name];
    dialogOf(`${name} “${budget.name}”`, text, fields(), act, again, name === "Close");
  } }, name));
  const drawn = charges.length ? spending(charges, amount(budget.epsilon)) : make("p", { class: "soft" }, "Nothing was spent yet.");
  const caps = Object.entries(budget.caps).map(([who, most]) => `${who === "*" ? "each analyst" : who} at most ${most}`);
  return make("section", { class: "card", "aria-label": `Budget ${budget.name}` }, make("div", { class: "row apart" }, make("h2", {}, budget.name), make("div", { class: "row" }, ...buttons)),
    budgetPart(budget), caps.length ? make("p", { class: "soft small" }, `Caps: ${caps.join("; ")}.`) : null, drawn);
}

/** A card with a form; what is refused is said in it. */
function formCard(title, text, fields, label, act) {
  const said = make("div", { "aria-live": "polite" });
  const form = make("form", { "aria-label": title, onsubmit: async (event) => {
    event.preventDefault();
    try { await act((id) => valueOf(form.querySelector(`#${id}`)), said, form); } catch (error) { said.replaceChildren(trouble(error)); }
  } }, ...fields, said, make("button", { class: "main" }, label));
  return make("section", { class: "card narrow" }, make("h2", {}, title), make("p", { class: "soft" }, text), form);
}

function newBudgetCard(again) {
  if (!session.sets.length) return null;
  const fields = [field("budget-dataset", "Data set", { choices: session.sets.map((each) => each.name) }), field("budget-name", "Name of the budget", { required: true }), ...limitFields("new-")];
  return formCard("New budget", "For a data set whose budget is spent or closed. The new budget pays from then on, and protects what the facts of the data set state.", fields, "Create the budget",
    async (of, _, form) => { await api("/v1/budgets", { name: of("budget-name"), dataset: of("budget-dataset"), ...limitsOf(form, "new-") }); await refresh(again); });
}

const refresh = async (again) => { session.sets = await api("/v1/datasets"); await again(); };

// Data sets

async function datasetsView(again) {
  const rows = session.sets.map((each) => [make("strong", {}, each.name), each.title, each.protects, each.budgets.map((budget) => `${budget.name} (${budget.left} left)`).join(", "), make("a", { href: `#/ask/${encodeURIComponent(each.name)}` }, each.questions.length === 1 ? "1 kind of question" : `${each.questions.length} kinds of questions`)]);
  const listed = rows.length ? table(["data set", "title", "protects", "budgets", "answers"], rows, "stack") : make("p", { class: "soft" }, "None yet. Register the first one below.");
  return make("div", {}, make("section", { class: "card" }, make("h1", {}, "Data sets"), listed), registrationCard(await api("/v1/registration"), () => refresh(again)));
}

// Tokens

async function tokensView(again) {
  const found = await api("/v1/tokens");
  const rows = found.toReversed().map((each) => [make("strong", {}, each.analyst), each.role, when(each.created), each.revoked ? make("span", { class: "soft" }, `revoked ${when(each.revoked)}`)
    : each.own ? make("span", { class: "soft" }, "you use it") : make("button", { type: "button", class: "quiet", "aria-label": `Revoke the token of ${each.analyst}`, onclick: () => dialogOf(`Revoke the token of ${each.analyst}`, "The token stops working at once. Past answers stay in the history.",
      [field("why", "Why", { help: "For the record.", maxlength: "1000" })], (of) => api(`/v1/tokens/${each.id}/revoke`, { why: of("why") || "" }), again, true) }, "Revoke")]);
  const create = formCard("New token", "Give it to the analyst over a private channel. It is shown once; only its hash is kept.",
    [field("analyst", "Name", { required: true, maxlength: "100", help: "The ledger records questions under this name." }), field("role", "Role", { choices: ["analyst", "curator"], help: "Curators can use everything on this page." })], "Create the token",
    async (of, said) => {
      const made = await api("/v1/tokens", { analyst: of("analyst"), role: of("role") });
      listed.replaceWith((listed = await listCard(again)));
      said.replaceChildren(make("div", { class: "note good" }, make("strong", {}, `The token of ${made.analyst}, shown once`), make("code", { class: "secret" }, made.token)));
    });
  const listCard = async () => (await tokensView(again)).firstChild;
  let listed = make("section", { class: "card" }, make("h1", {}, "Tokens"), table(["name", "role", "since", ""], rows));
  return make("div", {}, listed, create);
}

// Who asked what

async function questionsView() {
  const { charges, refusals } = await api("/v1/activity");
  const names = (key) => ["", ...new Set(charges.map((each) => each[key]))], shown = make("div", {});
  let most = PAGE;
  const filters = make("form", { class: "row filters", "aria-label": "Which questions" }, field("by-analyst", "Analyst", { choices: names("analyst"), shown: { "": "everyone" } }), field("by-dataset", "Data set", { choices: names("dataset"), shown: { "": "all" } }));
  const draw = () => {
    const [who, what] = ["analyst", "dataset"].map((key) => filters.querySelector(`#by-${key}`).value);
    const some = charges.filter((each) => (!who || each.analyst === who) && (!what || each.dataset === what));
    const rows = some.slice(0, most).map((each) => [when(each.time), each.analyst, each.dataset,
      each.released ? make("a", { href: `#/releases/${encodeURIComponent(each.charge)}` }, each.query) : make("span", { class: "soft" }, `${each.query} (no answer)`), each.epsilon]);
    const more = some.length > most ? make("button", { type: "button", onclick: () => { most += 4 * PAGE; draw(); } }, `Show more of ${some.length}`) : "";
    shown.replaceChildren(rows.length ? table(["when", "who", "data set", "question", "ε"], rows, "stack") : make("p", { class: "soft" }, "None yet."), more);
  };
  filters.addEventListener("change", () => { most = PAGE; draw(); });
  draw();
  return make("div", {}, analystsCard(charges, refusals), make("section", { class: "card" }, make("h2", {}, "Questions"), filters, shown));
}

function analystsCard(charges, refusals) {
  const analysts = new Map();
  const line = (name) => analysts.get(name) || analysts.set(name, { questions: 0, epsilon: 0 }).get(name);
  for (const each of charges) {
    line(each.analyst).questions += 1;
    line(each.analyst).epsilon += amount(each.epsilon);
  }
  Object.keys(refusals).forEach(line);
  const most = Math.max(1, ...[...analysts.values()].map((each) => each.questions));
  const rows = [...analysts].sort(([, a], [, b]) => b.questions - a.questions).map(([name, { questions, epsilon }]) => {
    const bar = make("span", { class: "share" });
    bar.style.width = `${(questions / most) * 100}%`;
    return [name, make("div", {}, String(questions), bar), plain(epsilon), refusals[name] || 0];
  });
  return make("section", { class: "card" }, make("h1", {}, "Analysts"), rows.length ? table(["analyst", "questions", "ε in all", "refused"], rows) : make("p", { class: "soft" }, "Nobody has asked yet."));
}

// The audit

const SAID = ["what", "query", "analyst", "role", "dataset", "file", "epsilon", "delta", "rule", "why", "protects", "place"];
const inShort = (entry) => SAID.filter((key) => entry[key] && typeof entry[key] === "string").map((key) => (key === "what" || key === "query" ? entry[key].replace(/ #[0-9a-f]{32}$/, "") : `${key === "epsilon" ? "ε" : key} ${entry[key]}`)).join(", ");

async function auditView() {
  const shown = make("tbody", {}), older = make("button", { type: "button" }, "Older entries"), said = make("div", {}), count = make("p", { class: "soft" });
  let skip = 0;
  const more = async () => {
    const { entries, all } = await api(`/v1/audit?limit=${PAGE}&skip=${skip}`);
    skip += entries.length;
    count.textContent = `${plain(all)} entries, each chained to the one before it; the chain was verified just now. Answers are not part of it.`;
    shown.append(...entries.map((each) => make("tr", {}, ...[when(each.time), each.kind, each.who || each.analyst || "", each.budget, shortened(inShort(each), 160)].map((cell) => make("td", {}, cell)))));
    older.hidden = skip >= all;
  };
  const save = (format) => make("button", { type: "button", class: "quiet", onclick: async () => {
    try { await download(`/v1/audit/download?format=${format}`, `audit.${format}`); } catch (error) { said.replaceChildren(trouble(error)); }
  } }, `Download ${format === "csv" ? "CSV" : "JSON"}`);
  older.addEventListener("click", more);
  await more();
  const head = make("thead", {}, make("tr", {}, ...["when", "entry", "who", "budget", "what"].map((each) => make("th", {}, each))));
  return make("section", { class: "card" }, make("div", { class: "row apart" }, make("h1", {}, "Audit"), make("div", { class: "row" }, save("csv"), save("jsonl"))), count, said,
    make("div", { class: "scroll" }, make("table", { class: "stack" }, head, shown)), older);
}
