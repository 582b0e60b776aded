"use strict";
// Answers as pictures, drawn from public facts and the answer alone.

const SVG = "http://www.w3.org/2000/svg";

function draw(name, properties = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(properties)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function picture(width, height, label, ...children) {
  return draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label }, ...children);
}

const shortened = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
const plain = (number) => Number(number).toLocaleString("en", { maximumFractionDigits: 6 });

/** Where values lie between the public bounds. */
function numberLine(points, column) {
  const width = 560, left = 20, right = 540;
  const at = (value) => left + ((value - column.lower) / (column.upper - column.lower)) * (right - left);
  const names = new Map();
  for (const [name, value] of points) names.set(value, [...(names.get(value) || []), name]);
  const marks = [...names].sort(([a], [b]) => a - b).flatMap(([value, some], i) => [
    draw("circle", { cx: at(value), cy: 50, r: 6, class: "bar" }),
    draw("text", { x: Math.min(Math.max(at(value), 60), 500), y: i % 2 ? 80 : 32, "text-anchor": "middle" },
      shortened(some[0] === "" ? plain(value) : `${some.join(", ")}: ${plain(value)}`, 30)),
  ]);
  return picture(width, 110, "The answer between the public bounds",
    draw("line", { x1: left, x2: right, y1: 50, y2: 50, class: "edge" }), ...marks,
    draw("text", { x: left, y: 104, class: "soft" }, plain(column.lower)),
    draw("text", { x: right, y: 104, "text-anchor": "end", class: "soft" }, plain(column.upper)));
}

/** A ranked list, best first. */
function ranking(names) {
  const rows = names.map((name, i) => draw("g", {},
    draw("rect", { x: 40, y: i * 34, width: Math.max(60, 460 - (i * 320) / Math.max(1, names.length - 1)), height: 28, rx: 5, class: "faint" }),
    draw("text", { x: 28, y: i * 34 + 19, "text-anchor": "end", class: "soft" }, `${i + 1}`),
    draw("text", { x: 52, y: i * 34 + 19 }, shortened(String(name), 40))));
  return picture(520, names.length * 34, "The answers, best first", ...rows);
}

/** All groups, the chosen ones marked; a set has no order. */
function chosenGroups(groups, chosen) {
  const across = 4, wide = 132;
  const cells = groups.slice(0, 200).map((name, i) => {
    const x = (i % across) * wide, y = Math.floor(i / across) * 40, marked = chosen.includes(name);
    return draw("g", {},
      draw("rect", { x: x + 2, y: y + 2, width: wide - 8, height: 32, rx: 5, class: marked ? "bar" : "faint" }),
      draw("text", { x: x + wide / 2 - 2, y: y + 23, "text-anchor": "middle", class: marked ? "inverse" : "" },
        shortened(`${marked ? "✓ " : ""}${name}`, 15)));
  });
  return picture(across * wide, Math.ceil(Math.min(groups.length, 200) / across) * 40, `Chosen: ${chosen.join(", ")}`, ...cells);
}

/** The nodes of a released tree, nested. */
function treeOf(answer, node = 0) {
  const { attribute, route_start: start, routes, label } = answer.tree;
  if (attribute[node] < 0) return { leaf: String(answer.classes[label[node]]), width: 1 };
  const domain = answer.domains[attribute[node]];
  const size = domain.edges ? domain.edges.length - 1 + (domain.missing ? 1 : 0) : domain.values.length;
  const codes = new Map();
  for (let code = 0; code < size; code += 1) {
    const child = routes[start[node] + code];
    codes.set(child, [...(codes.get(child) || []), code]);
  }
  const children = [...codes].map(([child, some]) => ({ when: whenText(domain, some, size), ...treeOf(answer, child) }));
  return { name: answer.features ? answer.features[attribute[node]] : `x${attribute[node]}`, children, width: children.reduce((sum, each) => sum + each.width, 0) };
}

function whenText(domain, codes, size) {
  if (!domain.edges) return codes.map((code) => (domain.values[code] === null ? "missing" : domain.values[code])).join(", ");
  const runs = [];
  for (const code of codes) {
    if (runs.length && runs[runs.length - 1][1] === code - 1) runs[runs.length - 1][1] = code;
    else runs.push([code, code]);
  }
  return runs.map(([low, high]) => {
    if (domain.missing && low === size - 1) return "missing";
    if (low === 0) return `< ${plain(domain.edges[high + 1])}`;
    if (high >= domain.edges.length - 2) return `≥ ${plain(domain.edges[low])}`;
    return `${plain(domain.edges[low])} to ${plain(domain.edges[high + 1])}`;
  }).join(", ");
}

function drawnTree(answer) {
  const root = treeOf(answer), wide = 150, tall = 92, parts = [];
  let deepest = 0;
  const place = (node, left, level) => {
    deepest = Math.max(deepest, level);
    const x = left + (node.width * wide) / 2, y = level * tall + 20;
    let from = left;
    for (const child of node.children || []) {
      const to = from + (child.width * wide) / 2;
      parts.push(draw("path", { d: `M${x},${y + 14} C${x},${y + 40} ${to},${y + 36} ${to},${y + tall - 14}`, class: "edge" }),
        draw("text", { x: to, y: y + tall - 22, "text-anchor": "middle", class: "soft" }, shortened(child.when, 22)));
      place(child, from, level + 1);
      from += child.width * wide;
    }
    parts.push(draw("rect", { x: x - 62, y: y - 14, width: 124, height: 28, rx: node.leaf ? 14 : 4, class: node.leaf ? "bar" : "faint" }),
      draw("text", { x, y: y + 5, "text-anchor": "middle", class: node.leaf ? "inverse" : "" }, shortened(node.leaf || node.name, 16)));
  };
  place(root, 0, 0);
  return picture(root.width * wide, (deepest + 1) * tall - 40, "The decision tree", ...parts);
}

/** What a budget spent over time, as steps below its limit. */
function spending(charges, limit) {
  const width = 640, height = 180, times = charges.map((each) => Date.parse(each.time));
  const first = Math.min(...times), last = Math.max(Date.now(), ...times);
  const x = (time) => 44 + ((time - first) / Math.max(1, last - first)) * 580;
  const y = (epsilon) => 150 - (epsilon / limit) * 130;
  let total = 0, path = `M${x(first)},${y(0)}`;
  for (const each of charges) {
    path += ` H${x(Date.parse(each.time))}`;
    total += amount(each.epsilon);
    path += ` V${y(Math.min(total, limit))}`;
  }
  path += ` H${x(last)}`;
  const day = (time) => new Date(time).toLocaleString([], { dateStyle: "short", timeStyle: "short" });
  return picture(width, height, "Epsilon spent over time",
    draw("line", { x1: 44, x2: 624, y1: y(limit), y2: y(limit), class: "limit" }),
    draw("line", { x1: 44, x2: 624, y1: y(0), y2: y(0), class: "edge" }),
    draw("path", { d: path, class: "step" }),
    draw("text", { x: 38, y: y(limit) + 4, "text-anchor": "end", class: "soft" }, plain(limit)),
    draw("text", { x: 38, y: y(0) + 4, "text-anchor": "end", class: "soft" }, "0"),
    draw("text", { x: 44, y: 174, class: "soft" }, day(first)),
    draw("text", { x: 624, y: 174, "text-anchor": "end", class: "soft" }, day(last)));
}

/** A number for pictures, of exact text such as 1/3 or <0.5. */
function amount(text) {
  const [above, below = "1"] = String(text || "0").replace(/^[<>]/, "").split("/");
  return Number(above) / Number(below);
}
