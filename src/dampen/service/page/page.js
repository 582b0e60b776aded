// The analysts' and curators' page: who is here, and where they are.  It asks nobody but the API.

import { answerCard, brief, inWords } from "/answers.js";
import { askView, sqlView } from "/ask.js";
import { curatorView } from "/curator.js";
import { api, find, loading, make, session, table, trouble, when } from "/elements.js";

function complain(error) {
  find("trouble").textContent = error.message;
  find("trouble").hidden = false;
}

// Entering and leaving

function leave() {
  sessionStorage.removeItem("dampen");
  Object.assign(session, { token: null, me: null, sets: [] });
  find("view").replaceChildren();
  for (const id of ["nav", "who"]) find(id).hidden = true;
  find("entry").hidden = false;
  find("token").value = "";
  find("token").focus();
}
session.leave = leave;

async function enter(token) {
  session.token = token;
  const me = await api("/v1/me"), [sets, questions] = await Promise.all([api("/v1/datasets"), api("/v1/questions")]);
  Object.assign(session, { me, sets, questions });
  sessionStorage.setItem("dampen", token);
  find("entry").hidden = true;
  find("trouble").hidden = true;
  find("name").textContent = session.me.role === "curator" ? `${session.me.analyst}, curator` : session.me.analyst;
  find("nav-curator").hidden = session.me.role !== "curator";
  for (const id of ["nav", "who"]) find(id).hidden = false;
  await show();
}

async function begin() {
  const login = location.hash.match(/^#login=(.+)$/);
  try {
    if (login) {
      history.replaceState(null, "", "/#/ask");
      session.token = "";
      await enter((await api("/v1/login", { code: login[1] })).token);
    } else if (session.token) await enter(session.token);
    else leave();
  } catch (error) {
    leave();
    complain(error);
  }
}

// Where to

const VIEWS = { ask: askView, sql: sqlView, history: historyView, releases: releaseView, curator: (what) => curatorView(show, what) };
const NAMES = { ask: "Ask", sql: "SQL", history: "History", releases: "Answer", curator: "Curator" };

let latest = 0;

async function show() {
  if (!session.me) return;
  const mine = (latest += 1);
  const [place, query = ""] = location.hash.split("?");
  const [, where = "ask", ...rest] = place.split("/");
  const name = where in VIEWS ? where : "ask";
  find("trouble").hidden = true;
  document.title = `${NAMES[name]} · dampen`;
  for (const each of ["ask", "sql", "history", "curator"]) {
    if (each === name) find(`nav-${each}`).setAttribute("aria-current", "page");
    else find(`nav-${each}`).removeAttribute("aria-current");
  }
  if (!["ask", "sql"].includes(name) && !find("view").hasChildNodes()) find("view").replaceChildren(loading("Loading …"));
  try {
    const [what, kind] = rest.map(decodeURIComponent);
    const made = await VIEWS[name](what, kind, new URLSearchParams(query));
    if (mine === latest) find("view").replaceChildren(made);
  } catch (error) {
    if (mine === latest) find("view").replaceChildren(trouble(error));
  }
}

// History

async function historyView() {
  const found = await api("/v1/releases?limit=200");
  if (!found.length) return make("section", { class: "card" }, make("h1", {}, "Your questions"), make("p", { class: "soft" }, "You have not asked anything yet. "), make("p", {}, make("a", { href: "#/ask" }, "Ask the first one")));
  const rows = found.map((each) => [
    make("span", { class: "soft" }, when(each.time)), each.dataset,
    make("a", { href: `#/releases/${encodeURIComponent(each.charge)}` }, each.release ? inWords(each.release.question) : each.query),
    each.release ? make("strong", {}, brief(each.release)) : make("span", { class: "soft" }, "no answer"), `ε ${each.epsilon}`]);
  return make("section", { class: "card" }, make("h1", {}, "Your questions"), table(["when", "data set", "question", "answer", "cost"], rows, "stack"));
}

async function releaseView(charge) {
  const found = await api(`/v1/releases/${encodeURIComponent(charge)}`);
  const set = session.sets.find((each) => each.name === found.dataset);
  const head = make("div", {}, make("h1", {}, `${set?.title || found.dataset}`),
    make("p", { class: "soft" }, `Asked by ${found.analyst}, ${when(found.time)}.`));
  return make("div", {}, head, answerCard({ ...found.release, reused: false }, set));
}

find("entry-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  try { await enter(find("token").value.trim()); } catch (error) { complain(error); }
});
find("leave").addEventListener("click", leave);
addEventListener("hashchange", async () => {
  if (location.hash.startsWith("#login=")) return begin();
  if (location.hash === "#main") return;
  await show();
  find("main").focus({ preventScroll: true });
});
begin();
