// A new data set: a form made from the declarations of its public facts.

import { api, field, make, table, trouble, valueOf } from "/elements.js";
import { plain } from "/pictures.js";

const FIRST = ["title", "unit", "units-public", "rows"], OWN = ["columns", "graph"];
const KINDS = { "": "not public: cannot be asked about", numbers: "numbers", categories: "listed values", names: "public names of the rows" };
const UNITS = { "": "one row", row: "one row", edge: "one edge", source: "one source, with all its edges" };

/** The fields of declared facts; `prefix` keeps their names apart. */
const fieldsOf = (facts, prefix) => facts.map((each) => field(`${prefix}${each.name}`, labelled(each.name), { kind: each.kind, help: helpOf(each), value: each.default ?? "", required: each.required && each.kind !== "list",
  choices: each.kind === "word" ? [...(each.default ? [] : [""]), ...each.choices] : [], shown: { "": "as the data set" } }));
const labelled = (name) => name[0].toUpperCase() + name.slice(1).replaceAll("-", " ");
const helpOf = ({ help, kind }) => (help ? help[0].toUpperCase() + help.slice(1).replaceAll("`", "") : "") + (kind === "list" ? " One per line." : kind === "numbers" ? " With commas." : "");

/** What was stated: fields that are empty, or say the default, are left out; a list that is needed may be empty. */
function stated(form, facts, prefix) {
  const found = facts.map((each) => [each, valueOf(form.querySelector(`[id="${prefix}${each.name}"]`)) ?? (each.required && each.kind === "list" ? [] : undefined)]);
  return Object.fromEntries(found.filter(([each, value]) => value !== undefined && value !== each.default).map(([each, value]) => [each.name, value]));
}

/** What a budget may spend. */
export const limitFields = (prefix) => [field(`${prefix}epsilon`, "ε in all", { value: "1", required: true, help: "Total ε that the budget can spend." }),
  make("details", { class: "more" }, make("summary", {}, "More limits"), field(`${prefix}largest`, "Largest ε of one question"), field(`${prefix}each`, "ε of one analyst"),
    field(`${prefix}delta`, "δ", { help: "For a promise of (ε, δ)." }))];
export const limitsOf = (form, prefix) => Object.fromEntries(["epsilon", "largest", "each", "delta"].map((name) => [name, valueOf(form.querySelector(`#${prefix}${name}`))]).filter(([, value]) => value !== undefined));

export function registrationCard(declared, done) {
  const card = make("section", { class: "card narrow" }, make("h2", {}, "Register a data set"));
  if (!declared.open) return card.append(make("p", { class: "soft" }, "The operator of this server allows no directory yet. Add register-from = [\"data\"] to [service] in dampen.toml and restart, or register data sets there.")), card;
  if (!declared.files.length) return card.append(make("p", { class: "soft" }, "There is no file in the directories that the operator allows (register-from in dampen.toml).")), card;
  const said = make("div", { "aria-live": "polite" }), columns = make("div", {}), unit = make("div", {}), graph = make("div", {});
  const simple = declared.facts.filter(({ name }) => !OWN.includes(name) && name !== "unit"), first = simple.filter(({ name }) => FIRST.includes(name)), rare = simple.filter(({ name }) => !FIRST.includes(name));
  const file = field("file", "File", { choices: ["", ...declared.files], shown: { "": "choose a file" }, help: "Files in the directories that the operator of this server allows." });
  const details = (title, ...parts) => make("details", { class: "more" }, make("summary", {}, title), ...parts);
  const form = make("form", { "aria-label": "Register a data set" }, file, field("dataset-name", "Name", { required: true, maxlength: "200" }), unit, ...fieldsOf(first, "fact-"),
    make("fieldset", {}, make("legend", {}, "Columns ", make("span", { class: "soft" }, "state what is known without looking at the data")), columns), graph,
    details("More facts", ...fieldsOf(rare, "fact-"), field("table", "Table", { help: "Table of a database file." }), field("analysts", "Analysts", { kind: "list", help: "Who may ask, one per line. Leave empty for everyone with a token." })),
    make("fieldset", {}, make("legend", {}, "Budget"), field("budget", "Name of the budget", { required: true, help: "Created if it does not exist." }), ...limitFields("limit-")), said);
  const at = (id) => form.querySelector(`[id="${id}"]`);
  let names = [];

  const unitField = () => {
    const shown = { ...UNITS, ...Object.fromEntries(names.map((each) => [each, `one ${each}, with all their rows`])) };
    unit.replaceChildren(field("fact-unit", "Protects", { choices: ["", ...names, "edge", "source"], shown, help: "Whom ε protects. If a person may have several rows, choose the column that names the person." }));
  };
  const columnField = ({ name, holds }, i) => {
    const facts = make("div", { class: "facts-of" }), kind = field(`kind-${i}`, name, { choices: holds === "other" ? [""] : ["", ...Object.keys(declared.columns)], shown: KINDS });
    kind.querySelector("select").addEventListener("change", (event) => {
      const all = declared.columns[event.target.value] || [], own = all.filter((each) => each.required || ["lower", "upper"].includes(each.name)), more = all.filter((each) => !own.includes(each) && each.name !== "names");
      facts.replaceChildren(make("div", { class: "beside" }, ...fieldsOf(own, `column-${i}-`)), ...(more.length ? [details("More", ...fieldsOf(more, `column-${i}-`))] : []));
    });
    return make("div", { class: "column" }, kind, facts);
  };
  const edges = make("div", { hidden: true }, ...fieldsOf(declared.graph, "graph-"));
  const edgesTick = field("is-graph", "The rows are edges of a graph", { kind: "flag" });
  edgesTick.querySelector("input").addEventListener("change", (event) => { edges.hidden = !event.target.checked; edges.querySelectorAll("[required]").forEach((each) => { each.disabled = edges.hidden; }); });
  edges.querySelectorAll("[required]").forEach((each) => { each.disabled = true; });
  graph.append(edgesTick, edges);

  const body = () => {
    const facts = stated(form, simple, "fact-");
    if (at("fact-unit").value) facts.unit = at("fact-unit").value;
    facts.columns = Object.fromEntries(names.flatMap((name, i) => {
      const kind = at(`kind-${i}`)?.value;
      return kind ? [[name, kind === "names" ? { names: true } : stated(form, declared.columns[kind], `column-${i}-`)]] : [];
    }));
    if (at("is-graph").checked) {
      const about = stated(form, declared.graph, "graph-");
      if (Array.isArray(about.nodes) && about.nodes.length === 1 && /^\d+$/.test(about.nodes[0])) about.nodes = Number(about.nodes[0]);
      facts.graph = about;
    }
    const more = { table: valueOf(at("table")), analysts: valueOf(at("analysts")) };
    return { name: at("dataset-name").value.trim(), file: at("file").value, facts, budget: at("budget").value.trim(), limits: limitsOf(form, "limit-"),
      ...Object.fromEntries(Object.entries(more).filter(([, value]) => value !== undefined)) };
  };
  const look = async () => {
    said.replaceChildren();
    try {
      const found = at("file").value ? await api("/v1/registration/columns", { file: at("file").value, ...(valueOf(at("table")) ? { table: valueOf(at("table")) } : {}) }) : [];
      names = found.map((each) => each.name);
      const name = at("file").value.split("/").at(-1).split(".")[0];
      for (const id of ["dataset-name", "budget"]) at(id).value ||= name;
      columns.replaceChildren(...found.map(columnField));
    } catch (error) {
      names = [];
      columns.replaceChildren();
      said.replaceChildren(trouble(error));
    }
    unitField();
  };
  for (const id of ["file", "table"]) at(id).addEventListener("change", look);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const told = await api("/v1/registration", body());
      await done();
      document.querySelector("#view h1")?.after(make("div", { class: "note good", role: "status" }, make("strong", {}, `“${told.name}” can be asked now`), `It protects ${told.protects}, and answers ${told.questions.length} kinds of questions. This was added to dampen.toml:`, make("pre", { tabindex: "0" }, told.toml)));
    } catch (error) { said.replaceChildren(trouble(error)); }
  });
  const check = make("button", { type: "button", onclick: async () => {
    said.replaceChildren(make("p", { class: "soft", "aria-busy": "true" }, "Counting …"));
    try { said.replaceChildren(checked(await api("/v1/registration/check", body()))); } catch (error) { said.replaceChildren(trouble(error)); }
  } }, "Check the rows");
  const why = make("p", { class: "help" }, declared.check ? "The check reads all rows and shows exact counts, which are not private. Do not publish them." : "Exact counts are shown only on the server itself. Run dampen check there.");
  form.append(declared.check ? check : "", why, make("button", { class: "main" }, "Register the data set"));
  unitField();
  columns.replaceChildren(make("p", { class: "soft" }, "Choose a file first."));
  return card.append(make("p", { class: "soft" }, "Analysts see everything that you state here. No row is read."), form), card;
}

/** The result of `dampen check`, which is not private. */
function checked(told) {
  const rows = Object.entries(told.columns).map(([name, each]) => [make("strong", {}, name), plain(each.missing), plain(each.unlisted), `${plain(each.below)} / ${plain(each.above)}`, each.empty.join(", ")]);
  return make("div", { class: "note", role: "status", "aria-label": "Exact counts" }, make("strong", { class: "bad" }, told.warning), make("p", {}, `${plain(told.rows)} rows${told.units ? `, ${plain(told.units.units)} of ${told.units.unit}` : ""}.`),
    rows.length ? table(["column", "missing", "unlisted", "below / above", "without a row"], rows) : "", ...told.advice.map((each) => make("p", {}, each)));
}
