"use strict";
// The analysts' and curators' page.  It knows what the API tells it, and asks nobody else.

const find = (id) => document.getElementById(id);
const state = { token: sessionStorage.getItem("dampen"), me: null, sets: [] };

function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.filter((each) => each !== null && each !== undefined));
  return element;
}

async function api(path, body) {
  const headers = { authorization: `Bearer ${state.token}` };
  if (body !== undefined) headers["content-type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { method: body === undefined ? "GET" : "POST", headers, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    throw new Error("The service does not answer.");
  }
  const told = await response.json();
  if (response.status === 401 && path !== "/v1/login") leave();
  if (!response.ok) throw new Error(told.message);
  return told;
}

function complain(error) {
  find("trouble").textContent = error.message;
  find("trouble").hidden = false;
}

// Entering and leaving

function leave() {
  sessionStorage.removeItem("dampen");
  Object.assign(state, { token: null, me: null, sets: [] });
  find("view").replaceChildren();
  for (const id of ["nav", "who"]) find(id).hidden = true;
  find("entry").hidden = false;
  find("token").focus();
}

async function enter(token) {
  state.token = token;
  state.me = await api("/v1/me");
  sessionStorage.setItem("dampen", token);
  find("entry").hidden = true;
  find("trouble").hidden = true;
  find("name").textContent = `${state.me.analyst} (${state.me.role})`;
  find("nav-curator").hidden = state.me.role !== "curator";
  for (const id of ["nav", "who"]) find(id).hidden = false;
  state.sets = await api("/v1/datasets");
  await show();
}

async function begin() {
  const login = location.hash.match(/^#login=(.+)$/);
  try {
    if (login) {
      history.replaceState(null, "", "/#/ask");
      state.token = "";
      await enter((await api("/v1/login", { code: login[1] })).token);
    } else if (state.token) await enter(state.token);
    else leave();
  } catch (error) {
    leave();
    complain(error);
  }
}

// Where to

async function show() {
  if (!state.me) return;
  const [, where = "ask", what] = location.hash.split("/");
  find("trouble").hidden = true;
  for (const name of ["ask", "history", "curator"]) {
    if (where === name) find(`nav-${name}`).setAttribute("aria-current", "page");
    else find(`nav-${name}`).removeAttribute("aria-current");
  }
  const views = { ask: askView, history: historyView, releases: releaseView, curator: curatorView };
  try {
    find("view").replaceChildren(await (views[where] || askView)(what && decodeURIComponent(what)));
  } catch (error) {
    complain(error);
  }
}

// Asking

const FIELDS = {
  percentile: (facts) => [
    choice("column", "Column", gridded(facts)), text("p", "Percentile", "50", "0 to 100; several with commas"),
    ...everyGroup(facts, 1),
  ],
  "most-frequent": (facts) => [
    choice("column", "Column", named(facts, "categories")), text("k", "How many", "", "one if empty"),
    ...everyGroup(facts, 2),
  ],
  "top-groups": (facts) => [
    choice("value", "Values", gridded(facts)), choice("by", "Groups", named(facts, "categories")),
    choice("statistic", "Statistic", ["median", "mean", "quantile", "trimmed-mean", "sum"]),
    text("p", "Percent", "", "for quantile and trimmed mean"), text("k", "How many", "", "one if empty"),
    tick("smallest", "The smallest instead"),
  ],
  "top-k": () => [text("k", "How many", "3"), choice("metric", "Influence is", ["betweenness", "degree"])],
  tree: (facts) => [choice("target", "Class to predict", named(facts, "categories").reverse()), text("depth", "Levels", "", "chosen for you if empty")],
};
const TITLES = { percentile: "Percentile", "most-frequent": "Most frequent", "top-groups": "Top groups", "top-k": "Top nodes", tree: "Decision tree" };
const WHOLE = new Set(["k", "depth"]);

const named = (facts, kind) => Object.entries(facts.columns).filter(([, column]) => column.kind === kind).map(([name]) => name);
const gridded = (facts) => named(facts, "numbers").filter((name) => facts.columns[name].step !== undefined);

function everyGroup(facts, least) {
  const groups = named(facts, "categories");
  return groups.length < least ? [] : [choice("by", "For every", ["", ...groups])];
}

function choice(name, label, options) {
  const list = make("select", { id: `f-${name}`, name }, ...options.map((each) => make("option", { value: each }, each || "nothing: all together")));
  return make("div", {}, make("label", { for: `f-${name}` }, label), list);
}

function text(name, label, value, hint = "") {
  return make("div", {}, make("label", { for: `f-${name}` }, `${label} `, make("span", { class: "soft" }, hint)),
    make("input", { id: `f-${name}`, name, value, autocomplete: "off", inputmode: WHOLE.has(name) ? "numeric" : "text" }));
}

function tick(name, label) {
  return make("label", { class: "tick" }, make("input", { type: "checkbox", name }), label);
}

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

async function askView(wanted) {
  const set = state.sets.find((each) => each.name === wanted) || state.sets[0];
  if (!set) return make("p", { class: "card" }, "There is no data set that you may ask.");
  const kinds = make("fieldset", {}, make("legend", {}, "Question"), make("div", { class: "kinds" },
    ...set.questions.map((kind, i) => make("label", {}, make("input", { type: "radio", name: "kind", value: kind, checked: i === 0 }), TITLES[kind]))));
  const fields = make("div", {}), form = make("form", { class: "card", "aria-label": "Question" });
  const expectation = make("div", { class: "before", "aria-live": "polite" });
  const answer = make("div", { "aria-live": "polite", id: "answer" });
  const button = make("button", { class: "main" }, "Ask");
  const select = make("select", { id: "dataset", name: "dataset", onchange: () => { location.hash = `#/ask/${encodeURIComponent(select.value)}`; } },
    ...state.sets.map((each) => make("option", { value: each.name, selected: each === set }, each.title ? `${each.name}: ${each.title}` : each.name)));
  const kindNow = () => form.querySelector("[name=kind]:checked").value;
  let waiting, latest = 0;

  const expect = async () => {
    const mine = (latest += 1);
    try {
      const told = await api(`/v1/datasets/${encodeURIComponent(set.name)}/${kindNow()}/expect`, questionOf(form));
      if (mine !== latest) return;
      expectation.replaceChildren(...expectationOf(told));
      button.textContent = told.recorded ? "Show the recorded answer (free)" : `Ask for ε = ${told.charged}`;
      button.disabled = false;
    } catch (error) {
      if (mine !== latest) return;
      expectation.replaceChildren(make("h3", {}, "Before you ask"), make("p", { class: "bad" }, error.message));
      button.textContent = "Ask";
      button.disabled = true;
    }
  };
  const soon = () => { clearTimeout(waiting); waiting = setTimeout(expect, 250); };
  const renew = () => {
    fields.replaceChildren(...FIELDS[kindNow()](set), text("epsilon", "ε", "0.5", "smaller is more private, and costs less"));
    if (set.budgets.length > 1) fields.append(choice("budget", "Budget", ["", ...set.budgets.map((each) => each.name)]));
    soon();
  };
  form.append(make("label", { for: "dataset" }, "Data set"), select, kinds, fields, expectation, button);
  kinds.addEventListener("change", renew);
  fields.addEventListener("input", soon);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    answer.replaceChildren(make("p", { class: "card soft" }, "Asking ..."));
    try {
      const told = await api(`/v1/datasets/${encodeURIComponent(set.name)}/${kindNow()}`, questionOf(form));
      answer.replaceChildren(answerCard(told, set));
      state.sets = await api("/v1/datasets");
      facts.replaceWith((facts = factsCard(state.sets.find((each) => each.name === set.name))));
    } catch (error) {
      answer.replaceChildren(make("p", { class: "card bad", role: "alert" }, error.message));
    }
    expect();
  });
  let facts = factsCard(set);
  renew();
  return make("div", { class: "columns" }, make("div", {}, form), make("div", {}, answer, facts));
}

function expectationOf(told) {
  const lines = [make("h3", {}, "Before you ask"), make("p", {}, told.sentence)];
  if (told.sample?.answers) {
    lines.push(make("p", {}, `On the public sample, ${told.sample.draws} tries gave: `,
      told.sample.answers.map(([each, count]) => `${typeof each === "string" ? each : JSON.stringify(each)} (${count})`).join(", ")));
  }
  if (told.sample?.correct) lines.push(make("p", {}, `On the public sample such trees are right for ${told.sample.correct.map((each) => `${Math.round(each * 100)} %`).join(", ")}.`));
  lines.push(make("p", { class: "soft" }, told.recorded
    ? "This was asked before: the recorded answer is free, and repeating the draw would tell nothing new."
    : `${plain(told.candidates)} candidates; ε = ${told.charged} of ${told.budget.left} left in “${told.budget.name}”. Protects: ${told.neighbours}.`));
  return lines;
}

function factsCard(set) {
  const rows = Object.entries(set.columns).map(([name, column]) => make("tr", {}, make("td", {}, name), make("td", {}, describe(column))));
  const card = make("section", { class: "card", "aria-label": "Public facts" }, make("h2", {}, set.title || set.name));
  if (set.rows) card.append(make("p", { class: "soft" }, `At most ${plain(set.rows)} rows.`));
  if (set.graph) card.append(make("p", { class: "soft" }, `A graph of ${plain(set.graph.nodes)} nodes.`));
  if (rows.length) card.append(make("div", { class: "scroll" }, make("table", {}, make("thead", {}, make("tr", {}, make("th", {}, "column"), make("th", {}, "public facts"))), make("tbody", {}, ...rows))));
  card.append(...set.budgets.map((each) => budgetMeter(each)));
  return card;
}

function describe(column) {
  if (column.kind === "categories") return shortened(column.values.join(", "), 200);
  if (column.kind === "labels") return "public names of the rows";
  return `${plain(column.lower)} to ${plain(column.upper)}${column.step ? `, steps of ${plain(column.step)}` : ""}`;
}

function budgetMeter(budget) {
  const bar = make("span"), share = amount(budget.left) / amount(budget.epsilon);
  bar.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  const delta = budget.delta ? `, δ = ${budget.delta}` : "";
  const own = budget.your_cap ? ` You have spent ${budget.spent_by_you} of your ${budget.your_cap}.` : "";
  return make("div", {}, make("p", {}, `Budget “${budget.name}” (${budget.neighbours}): ε = ${budget.left} of ${budget.epsilon}${delta} left, ${budget.status}.${own}`),
    make("div", { class: "meter", role: "img", "aria-label": `${Math.round(share * 100)} % left` }, bar));
}

// Answers

function answerCard(told, set) {
  const link = told.charge ? `#/releases/${encodeURIComponent(told.charge)}` : null;
  const free = told.reused ? " This is the recorded answer; it cost nothing now." : "";
  const about = `ε = ${told.epsilon}, ${told.mechanism}, ${told.neighbours}.${free}`;
  const card = make("section", { class: "card", "aria-label": "Answer" }, make("h2", {}, "Answer"));
  card.append(...answerParts(told, set), make("p", { class: "soft" }, about, link ? " " : "", link ? make("a", { href: link }, "Permalink") : ""));
  card.append(copies(told));
  return card;
}

function answerParts(told, set) {
  const { answer } = told, { kind, options } = told.question;
  if (kind === "tree") return [make("div", { class: "scroll" }, drawnTree(answer))];
  if (answer !== null && typeof answer === "object" && !Array.isArray(answer)) {
    const rows = Object.entries(answer);
    const line = kind === "percentile" && rows.every(([, value]) => typeof value === "number") && set?.columns[options.column]
      ? numberLine(rows, set.columns[options.column]) : null;
    return [answerTable([options.by || "group", "answer"], rows.map(([name, value]) => [name, shownValue(value)])), line];
  }
  if (kind === "percentile") {
    const points = Array.isArray(answer) ? answer.map((value, i) => [options.p[i], value]) : [["", answer]];
    const shown = Array.isArray(answer) ? answerTable(["percentile", "value"], points.map(([p, value]) => [p, shownValue(value)])) : make("p", { class: "answer" }, shownValue(answer));
    const column = set?.columns[options.column];
    return [shown, column && points.every(([, value]) => typeof value === "number") ? numberLine(points.map(([p, value]) => [p === "" ? "" : `${p} %`, value]), column) : null];
  }
  const several = Array.isArray(answer) ? answer : [answer];
  const large = make("p", { class: "answer" }, several.map(shownValue).join(", "));
  if (kind === "top-groups" && set && !options.ordered) return [large, chosenGroups(set.columns[options.by].values, several.map(String))];
  return [large, several.length > 1 ? ranking(several) : null];
}

const shownValue = (value) => (typeof value === "number" ? plain(value) : Array.isArray(value) ? value.map(shownValue).join(", ") : String(value));

function answerTable(heads, rows) {
  return make("div", { class: "scroll" }, make("table", {}, make("thead", {}, make("tr", {}, ...heads.map((each) => make("th", {}, each)))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((each) => make("td", {}, String(each))))))));
}

function copies(told) {
  const { dataset, kind, options } = told.question, shown = make("pre", { hidden: true, tabindex: "0" });
  const python = (value) => (value === true ? "True" : value === false ? "False" : JSON.stringify(value));
  const positional = { percentile: "column", "most-frequent": "column", "top-groups": "value" }[kind];
  const rest = Object.entries(options).filter(([name]) => name !== positional).map(([name, value]) => `${name}=${python(value)}`);
  const given = [dataset, ...(positional ? [options[positional]] : [])].map(python);
  const texts = {
    Python: `import dampen\nservice = dampen.connect("${location.origin}", token="...")\nservice.${kind.replaceAll("-", "_")}(${[...given, ...rest].join(", ")})`,
    curl: `curl -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\\n  -d '${JSON.stringify(options).replaceAll("'", "'\\''")}' \\\n  ${location.origin}/v1/datasets/${encodeURIComponent(dataset)}/${kind}`,
    JSON: JSON.stringify(told, null, 2),
  };
  const copy = async (name) => {
    shown.textContent = texts[name];
    shown.hidden = false;
    try { await navigator.clipboard.writeText(texts[name]); } catch { /* shown, to be copied by hand */ }
  };
  return make("div", {}, make("div", { class: "row" }, make("span", { class: "soft" }, "Copy as"),
    ...Object.keys(texts).map((name) => make("button", { type: "button", onclick: () => copy(name) }, name))), shown);
}

// History

async function historyView() {
  const found = await api("/v1/releases?limit=200");
  if (!found.length) return make("p", { class: "card" }, "You have not asked anything yet.");
  const rows = found.map((each) => make("tr", {},
    make("td", {}, new Date(each.time).toLocaleString()), make("td", {}, each.dataset),
    make("td", {}, make("a", { href: `#/releases/${encodeURIComponent(each.charge)}` }, each.query)),
    make("td", {}, each.release ? brief(each.release) : make("span", { class: "soft" }, "no answer")), make("td", { class: "number" }, each.epsilon)));
  const heads = ["when", "data set", "question", "answer"].map((each) => make("th", {}, each));
  return make("section", { class: "card" }, make("h2", {}, "Your questions"), make("div", { class: "scroll" },
    make("table", { class: "stack" }, make("thead", {}, make("tr", {}, ...heads, make("th", { class: "number" }, "ε"))), make("tbody", {}, ...rows))));
}

function brief(release) {
  if (release.question?.kind === "tree") return "a decision tree";
  const { answer } = release;
  const text = answer !== null && typeof answer === "object" && !Array.isArray(answer)
    ? Object.entries(answer).map(([name, value]) => `${name}: ${shownValue(value)}`).join("; ") : shownValue(answer);
  return shortened(text, 80);
}

async function releaseView(charge) {
  const found = await api(`/v1/releases/${encodeURIComponent(charge)}`);
  const set = state.sets.find((each) => each.name === found.dataset);
  const head = make("section", { class: "card" }, make("h2", {}, `${found.dataset}: ${found.query}`),
    make("p", { class: "soft" }, `Asked by ${found.analyst}, ${new Date(found.time).toLocaleString()}; charge ${found.charge}.`));
  return make("div", {}, head, answerCard({ ...found.release, reused: false }, set));
}

// Curators

async function curatorView() {
  const [{ charges, refusals }, budgets] = await Promise.all([api("/v1/activity"), api("/v1/budget")]);
  const parts = budgets.map((budget) => curatedBudget(budget, charges.filter((each) => each.budget === budget.name.toLowerCase()).reverse()));
  const analysts = new Map();
  for (const each of charges) {
    const line = analysts.get(each.analyst) || { questions: 0, epsilon: 0 };
    analysts.set(each.analyst, { questions: line.questions + 1, epsilon: line.epsilon + amount(each.epsilon) });
  }
  for (const name of Object.keys(refusals)) if (!analysts.has(name)) analysts.set(name, { questions: 0, epsilon: 0 });
  const rows = [...analysts].map(([name, line]) => [name, line.questions, plain(line.epsilon), refusals[name] || 0]);
  return make("div", {}, ...parts, make("section", { class: "card" }, make("h2", {}, "Analysts"),
    rows.length ? answerTable(["analyst", "questions", "ε in all", "refused"], rows) : make("p", {}, "Nobody has asked yet.")));
}

function curatedBudget(budget, charges) {
  const act = budget.status === "frozen" ? "thaw" : "freeze";
  const turn = async () => {
    try {
      await api(`/v1/budgets/${encodeURIComponent(budget.name)}/${act}`, { why: "by the page" });
      await show();
    } catch (error) { complain(error); }
  };
  const button = budget.status === "closed" ? null : make("button", { type: "button", onclick: turn }, act === "freeze" ? "Freeze" : "Thaw");
  return make("section", { class: "card" }, make("div", { class: "row" }, make("h2", {}, budget.name), button), budgetMeter(budget),
    charges.length ? make("div", { class: "scroll" }, spending(charges, amount(budget.epsilon))) : make("p", { class: "soft" }, "Nothing was spent yet."));
}

find("entry-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  try { await enter(find("token").value.trim()); } catch (error) { complain(error); }
});
find("leave").addEventListener("click", leave);
addEventListener("hashchange", () => (location.hash.startsWith("#login=") ? begin() : show()));
begin();
