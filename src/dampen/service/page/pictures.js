// Answers as pictures, drawn from public facts and the answer alone.

import { make } from "/elements.js";

const SVG = "http://www.w3.org/2000/svg";

function draw(name, properties = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(properties)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function picture(width, height, label, kind, ...children) {
  return draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label, class: kind }, ...children);
}

export const shortened = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
export const plain = (number) => Number(number).toLocaleString("en", { maximumFractionDigits: 6 });

/** A number for pictures, of exact text such as 1/3 or <0.5. */
export function amount(text) {
  const [above, below = "1"] = String(text || "0").replace(/^[<>]/, "").split("/");
  return Number(above) / Number(below);
}

/** Where values lie between the public bounds: one line for each name. */
export function dots(rows, column) {
  const bare = rows.length === 1 && rows[0][0] === "";
  const lines = rows.flatMap(([name, values]) => {
    const track = make("div", { class: "track" }, ...values.map((value) => {
      const dot = make("span", { class: "dot", title: plain(value) });
      dot.style.left = `${(Math.max(0, Math.min(1, (value - column.lower) / (column.upper - column.lower)))) * 100}%`;
      return dot;
    }));
    return bare ? [track] : [make("span", { class: "name", title: name }, name), track, make("strong", {}, values.map(plain).join(", "))];
  });
  return make("div", { class: bare ? "plot bare" : "plot", role: "img", "aria-label": "The answer between the public bounds" }, ...lines,
    make("div", { class: "ends" }, make("span", {}, plain(column.lower)), make("span", {}, plain(column.upper))));
}

/** Noisy numbers as bars from zero, each with its interval. */
export function bars(rows) {
  const shown = rows.slice(0, 100), named = shown.some(([name]) => name !== "");
  const ends = shown.flatMap(([, value, pair]) => [value, 0, ...(pair || [])]), least = Math.min(...ends), most = Math.max(...ends, least + 1e-9);
  const width = Math.max(280, Math.min(560, document.documentElement.clientWidth - 60)), left = named ? Math.min(132, width / 3) : 14, right = width - 14, high = 28, low = shown.length * high + 6;
  const x = (value) => left + ((value - least) / (most - least)) * (right - left);
  const lines = shown.flatMap(([name, value, pair], i) => {
    const y = i * high + 4, middle = y + 10;
    const whisker = pair ? [draw("path", { d: `M${x(pair[0])},${middle - 5} v10 m0,-5 H${x(pair[1])} m0,-5 v10`, class: "whisker" }, draw("title", {}, `${plain(pair[0])} to ${plain(pair[1])}`))] : [];
    return [draw("text", { x: left - 10, y: middle + 4, "text-anchor": "end" }, draw("title", {}, name), shortened(name, Math.floor((left - 10) / 7.5))),
      draw("rect", { x: Math.min(x(0), x(value)), y, width: Math.max(1, Math.abs(x(value) - x(0))), height: 20, rx: 2, class: "bar" }, draw("title", {}, plain(value))), ...whisker];
  });
  const marks = [...new Set([least, 0, most])].filter((value) => value === 0 || Math.abs(x(value) - x(0)) > 60);
  const axis = marks.flatMap((value) => [draw("line", { x1: x(value), x2: x(value), y1: 0, y2: low, class: "edge" }),
    draw("text", { x: x(value), y: low + 16, "text-anchor": value === most ? "end" : value === least ? "start" : "middle", class: "soft" }, plain(Number(value.toPrecision(4))))]);
  return picture(width, low + 22, "The numbers and their intervals", "fit", ...axis, ...lines);
}

/** A ranked list, best first; ranks are all that is known, so nothing is drawn longer or shorter. */
export const ranking = (names) => make("ol", { class: "ranks", "aria-label": "The answers, best first" }, ...names.map((name) => make("li", {}, String(name))));

/** All groups, the chosen ones marked; a set has no order. */
export function chosenGroups(groups, chosen) {
  return make("div", { class: "chips", role: "img", "aria-label": `Chosen: ${chosen.join(", ")}` },
    ...groups.slice(0, 500).map((name) => make("span", { class: chosen.includes(name) ? "chosen" : "" }, chosen.includes(name) ? `✓ ${name}` : name)));
}

/** The nodes of a released tree, nested. */
function treeOf(answer, node = 0) {
  const { attribute, route_start: start, routes, label } = answer.tree;
  if (attribute[node] < 0) return { leaf: String(answer.classes[label[node]]), colour: label[node] % 6, width: 1 };
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

export function drawnTree(answer) {
  const root = treeOf(answer), wide = 158, tall = 104, below = [], above = [];
  let deepest = 0;
  const place = (node, left, level) => {
    deepest = Math.max(deepest, level);
    const x = left + (node.width * wide) / 2, y = level * tall + 20;
    let from = left;
    for (const child of node.children || []) {
      const to = from + (child.width * wide) / 2, text = shortened(child.when, 20);
      below.push(draw("path", { d: `M${x},${y + 15} C${x},${y + 55} ${to},${y + 40} ${to},${y + tall - 15}`, class: "edge" }));
      above.push(draw("rect", { x: to - text.length * 3.6 - 4, y: y + tall - 47, width: text.length * 7.2 + 8, height: 19, rx: 4, class: "paper" }),
        draw("text", { x: to, y: y + tall - 33, "text-anchor": "middle", class: "soft" }, draw("title", {}, child.when), text));
      place(child, from, level + 1);
      from += child.width * wide;
    }
    const name = node.leaf === undefined ? node.name : node.leaf;
    above.push(draw("rect", { x: x - 66, y: y - 15, width: 132, height: 30, rx: node.children ? 6 : 15, class: node.children ? "faint" : `c${node.colour}` }),
      draw("text", { x, y: y + 5, "text-anchor": "middle", class: node.children ? "" : "inverse" }, draw("title", {}, name), shortened(name, 17)));
  };
  place(root, 0, 0);
  return picture(root.width * wide, (deepest + 1) * tall - 62, "The decision tree", "wide", ...below, ...above);
}

/** What a budget spent over time, as steps below its limit. */
export function spending(charges, limit) {
  const width = Math.max(280, Math.min(560, document.documentElement.clientWidth - 60)), left = 40, right = width - 8, low = 132, high = 14;
  const times = charges.map((each) => Date.parse(each.time));
  const first = Math.min(...times), last = Math.max(Date.now(), ...times);
  const x = (time) => left + ((time - first) / Math.max(1, last - first)) * (right - left);
  const y = (epsilon) => low - (epsilon / limit) * (low - high);
  let total = 0, path = `M${x(first)},${y(0)}`;
  for (const each of charges) {
    path += ` H${x(Date.parse(each.time))}`;
    total += amount(each.epsilon);
    path += ` V${y(Math.min(total, limit))}`;
  }
  path += ` H${right}`;
  const sameDay = new Date(first).toDateString() === new Date(last).toDateString(), minutes = (last - first) / 60000;
  const moment = (time) => new Date(time).toLocaleString([], sameDay ? { timeStyle: minutes < 10 ? "medium" : "short" } : { dateStyle: "medium" });
  const labels = [limit, limit / 2, 0].map((level) => draw("text", { x: left - 8, y: y(level) + 4, "text-anchor": "end", class: "soft" }, plain(level)));
  return picture(width, 158, "Epsilon spent over time", "fit",
    draw("line", { x1: left, x2: right, y1: y(limit / 2), y2: y(limit / 2), class: "edge" }), draw("line", { x1: left, x2: right, y1: y(0), y2: y(0), class: "edge" }),
    draw("path", { d: `${path} V${y(0)} Z`, class: "area" }), draw("path", { d: path, class: "step" }),
    draw("line", { x1: left, x2: right, y1: y(limit), y2: y(limit), class: "limit" }), ...labels,
    draw("text", { x: left, y: 153, class: "soft" }, moment(first)), draw("text", { x: right, y: 153, "text-anchor": "end", class: "soft" }, moment(last)));
}
