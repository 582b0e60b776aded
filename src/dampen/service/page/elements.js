// Elements of the page, and the way to the API: what it tells is all that the page knows.

export const find = (id) => document.getElementById(id);
export const session = { token: sessionStorage.getItem("dampen"), me: null, sets: [], questions: [], leave: () => {} };

export function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.filter((each) => each !== null && each !== undefined));
  return element;
}

/** A refusal of the service, in its own words. */
export class Refused extends Error {
  constructor(status, told) {
    super(told.message);
    Object.assign(this, { status, code: told.exit_code, incident: told.incident });
  }
}

export async function api(path, body) {
  const headers = { authorization: `Bearer ${session.token}` };
  if (body !== undefined) headers["content-type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { method: body === undefined ? "GET" : "POST", headers, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    throw new Error("The service does not answer. Check your releases before you ask again.");
  }
  const told = await response.json();
  if (response.status === 401 && path !== "/v1/login") session.leave();
  if (!response.ok) throw new Refused(response.status, told);
  return told;
}

/** A file of the service, saved by the browser; the token does not travel in an address. */
export async function download(path, name) {
  const response = await fetch(path, { headers: { authorization: `Bearer ${session.token}` } });
  if (!response.ok) throw new Refused(response.status, await response.json());
  const address = URL.createObjectURL(await response.blob());
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

export const when = (time) => new Date(time).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });

/** A field with its label and help; `kind` says how its text is read by `valueOf`. */
export function field(id, label, { kind = "text", help = "", value = "", choices = [], shown = {}, ...more } = {}) {
  const given = { id, name: id, "data-kind": kind, "aria-describedby": help ? `${id}-help` : null, ...more };
  const told = help ? make("p", { class: "help", id: `${id}-help` }, help) : null;
  if (kind === "flag") return make("div", {}, make("label", { class: "tick" }, make("input", { ...given, type: "checkbox", checked: value === true }), label), told);
  const input = choices.length ? make("select", given, ...choices.map((each) => make("option", { value: each, selected: each === value }, shown[each] ?? each)))
    : kind === "list" ? make("textarea", { ...given, rows: "3", spellcheck: "false" }, String(value))
    : make("input", { ...given, value, autocomplete: "off", spellcheck: "false", inputmode: kind === "count" ? "numeric" : kind === "number" ? "decimal" : "text" });
  return make("div", {}, make("label", { for: id }, label), input, told);
}

/** What a field says, as JSON; nothing if it is empty. */
export function valueOf(input) {
  const { kind } = input.dataset, text = input.value.trim();
  if (kind === "flag") return input.checked || undefined;
  if (!text) return undefined;
  if (kind === "list") return text.split("\n").map((each) => each.trim()).filter(Boolean);
  if (kind === "numbers") return text.split(",").map(Number);
  return (kind === "count" || kind === "number") && !Number.isNaN(Number(text)) ? Number(text) : text;
}

/** A dialog with fields and one act; what the act refuses is said inside. */
export function dialogOf(title, text, fields, act, done, danger = false) {
  const said = make("div", {});
  const dialog = make("dialog", { "aria-label": title, onclose: () => dialog.remove() });
  const form = make("form", { onsubmit: async (event) => {
    event.preventDefault();
    try {
      await act((id) => valueOf(form.querySelector(`#${id}`)));
      dialog.close();
      await done();
    } catch (error) { said.replaceChildren(trouble(error)); }
  } }, make("h2", {}, title), make("p", { class: "soft" }, text), ...fields, said, make("button", { class: danger ? "main danger" : "main" }, `${title.split(" ")[0]} it`),
  make("p", {}, make("button", { type: "button", class: "quiet", onclick: () => dialog.close() }, "Cancel")));
  dialog.append(form);
  find("main").append(dialog);
  dialog.showModal();
}

export const loading = (text) => make("section", { class: "card", "aria-busy": "true" }, make("div", { class: "wait" }), make("p", { class: "soft" }, text));

export function trouble(error) {
  const title = error.code === 3 ? "The charge stands" : error.code === 2 ? "Nothing was charged" : "No answer yet";
  return make("div", { class: "note bad", role: "alert" }, make("strong", {}, title), error.message);
}

export function table(heads, rows, kind = "") {
  const cell = (each) => (each instanceof Node ? each : String(each));
  return make("div", { class: "scroll" }, make("table", { class: kind }, make("thead", {}, make("tr", {}, ...heads.map((each) => make("th", {}, each)))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((each) => make("td", {}, cell(each))))))));
}
