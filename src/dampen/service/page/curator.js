// What curators see: budgets over time, who asked what, and a way to stop spending.

import { api, find, make, table, trouble } from "/elements.js";
import { budgetPart } from "/ask.js";
import { amount, plain, spending } from "/pictures.js";

const RECENT = 20;

export async function curatorView(again) {
  const [{ charges, refusals }, budgets] = await Promise.all([api("/v1/activity"), api("/v1/budget")]);
  const cards = budgets.map((budget) => budgetCard(budget, charges.filter((each) => each.budget === budget.name.toLowerCase()).reverse(), again));
  return make("div", {}, make("h1", {}, "Budgets"), make("div", { class: "pairs" }, ...cards), analystsCard(charges, refusals), recentCard(charges));
}

function budgetCard(budget, charges, again) {
  const act = budget.status === "frozen" ? "Thaw" : "Freeze";
  const button = budget.status === "closed" ? null : make("button", { type: "button", class: "quiet", onclick: () => confirmed(budget, act, again) }, act);
  const drawn = charges.length ? spending(charges, amount(budget.epsilon)) : make("p", { class: "soft" }, "Nothing was spent yet.");
  return make("section", { class: "card", "aria-label": `Budget ${budget.name}` }, make("div", { class: "row apart" }, make("h2", {}, budget.name), button), budgetPart(budget), drawn);
}

function confirmed(budget, act, again) {
  const why = make("input", { id: "why", autocomplete: "off", maxlength: "1000" }), said = make("div", {});
  const dialog = make("dialog", { "aria-label": `${act} ${budget.name}`, onclose: () => dialog.remove() });
  const form = make("form", { onsubmit: async (event) => {
    event.preventDefault();
    try {
      await api(`/v1/budgets/${encodeURIComponent(budget.name)}/${act.toLowerCase()}`, { why: why.value.trim() });
      dialog.close();
      await again();
    } catch (error) { said.replaceChildren(trouble(error)); }
  } }, make("h2", {}, `${act} “${budget.name}”?`),
  make("p", { class: "soft" }, act === "Freeze" ? "It pays nothing until it is thawed; recorded answers stay free." : "It pays again."),
  make("label", { for: "why" }, "Why ", make("span", { class: "soft" }, "for the record")), why, said,
  make("button", { class: "main" }, `${act} it`), make("p", {}, make("button", { type: "button", class: "quiet", onclick: () => dialog.close() }, "Cancel")));
  dialog.append(form);
  find("main").append(dialog);
  dialog.showModal();
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
  return make("section", { class: "card" }, make("h2", {}, "Analysts"), rows.length ? table(["analyst", "questions", "ε in all", "refused"], rows) : make("p", { class: "soft" }, "Nobody has asked yet."));
}

function recentCard(charges) {
  const rows = charges.slice(0, RECENT).map((each) => [new Date(each.time).toLocaleString([], { dateStyle: "short", timeStyle: "short" }), each.analyst, each.dataset,
    each.released ? make("a", { href: `#/releases/${encodeURIComponent(each.charge)}` }, each.query) : make("span", { class: "soft" }, `${each.query} (no answer)`), each.epsilon]);
  return make("section", { class: "card" }, make("h2", {}, "Latest questions"), rows.length ? table(["when", "who", "data set", "question", "ε"], rows, "stack") : make("p", { class: "soft" }, "None yet."));
}
