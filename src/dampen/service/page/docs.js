"use strict";
// The documentation of the API, from its own description: no other site is asked.

const make = (name, properties = {}, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) element.setAttribute(key, value);
  element.append(...children);
  return element;
};

function typeOf(schema, all) {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((each) => JSON.stringify(each)).join(" or ");
  if (schema.anyOf) {
    const kinds = schema.anyOf.filter((each) => each.type !== "null").map((each) => typeOf(each, all));
    return [...new Set(kinds)].join(" or ");
  }
  if (schema.type === "array") return `list of ${typeOf(schema.items, all)}`;
  return schema.type || "";
}

function parameters(operation, all) {
  const rows = (operation.parameters || []).map((each) => [each.name, typeOf(each.schema, all), each.in, each.required]);
  const schema = operation.requestBody?.content?.["application/json"]?.schema;
  if (schema) {
    const body = schema.$ref ? all[schema.$ref.split("/").pop()] : schema;
    for (const [name, schema] of Object.entries(body.properties)) {
      const kind = typeOf(schema, all);
      if (kind) rows.push([name, kind, schema.description || "body", (body.required || []).includes(name)]);
    }
  }
  return rows;
}

function operationCard(path, method, operation, all) {
  const card = make("section", { class: "card" }, make("h3", {}, make("code", {}, `${method.toUpperCase()} ${path}`)));
  card.append(make("p", {}, operation.description || ""));
  const rows = parameters(operation, all);
  if (rows.length) {
    const head = make("tr", {}, ...["name", "type", "", ""].map((each) => make("th", {}, each)));
    const body = rows.map(([name, kind, where, required]) =>
      make("tr", {}, make("td", {}, make("code", {}, name)), make("td", {}, kind), make("td", { class: "soft" }, where),
        make("td", {}, required ? "required" : "")));
    card.append(make("div", { class: "scroll" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...body))));
  }
  return card;
}

async function show() {
  const described = await (await fetch("/openapi.json")).json();
  const groups = new Map();
  for (const [path, methods] of Object.entries(described.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const tag = (operation.tags || ["other"])[0];
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push(operationCard(path, method, operation, described.components.schemas));
    }
  }
  const shown = [...groups].flatMap(([tag, cards]) => [make("h2", {}, tag), ...cards]);
  document.getElementById("operations").replaceChildren(...shown);
}

show();
