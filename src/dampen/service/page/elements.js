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
    throw new Error("The service does not answer. Look among your releases before you ask again.");
  }
  const told = await response.json();
  if (response.status === 401 && path !== "/v1/login") session.leave();
  if (!response.ok) throw new Refused(response.status, told);
  return told;
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
