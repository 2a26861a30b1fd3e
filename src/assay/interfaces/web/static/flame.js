// Flame graphs: one side, or the difference of two (red: more in B, blue: less). Each .flame box has its data, a
// FlameGraphs of the API, as JSON in a script element, or the address of this JSON in data-source. With data-timed, the
// box shows one interval of the run on the event "moment", or for a time that is typed in.
// Keys in the graph: arrows move (down: callee, up: caller), Enter zooms in, Escape zooms out.
const SVG = "http://www.w3.org/2000/svg";
const ROW_PX = 20, LETTER_PX = 6.6, FRAME_PX_MIN = 0.4, GRAPH_PX_MIN = 320;

function element(name, attributes, text) {
  const node = document.createElement(name);
  Object.assign(node, attributes);
  if (text) node.textContent = text;
  return node;
}

function svgElement(name, attributes, text) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text) node.textContent = text;
  return node;
}

/** Return the root of a graph: frames with the value of each side, and their mean as weight. */
function treeOf(graph, data) {
  const path = [];
  graph.depths.forEach((depth, index) => {
    const values = graph.counts.map((counts, side) => counts[index] * data.unit_per_count[side]);
    const weight = values.reduce((sum, value) => sum + value, 0) / values.length;
    const parent = path[depth - 1] ?? null;
    const node = { name: data.names[graph.frames[index]], values, weight, depth, parent, children: [] };
    if (parent) parent.children.push(node);
    path.length = depth;
    path.push(node);
  });
  return path[0];
}

/** Return the visible frames with their position: the callers of the root at full width, then the root's callees. */
function layoutOf(root, width) {
  const items = [];
  for (let node = root.parent; node; node = node.parent) items.unshift({ node, x: 0, wide: width, above: true });
  const waiting = [{ node: root, x: 0, wide: width }];
  while (waiting.length) {
    const item = waiting.pop();
    items.push(item);
    let x = item.x;
    const below = [];
    for (const child of item.node.children) {
      const wide = item.node.weight ? (item.wide * child.weight) / item.node.weight : 0;
      if (wide >= FRAME_PX_MIN) below.push({ node: child, x, wide });
      x += wide;
    }
    waiting.push(...below.reverse());
  }
  return items;
}

/** Return the largest change of a frame in all phases, so that the colours of phases can be compared. */
function largestChange(data) {
  let largest = 0;
  for (const { counts: [first, second] } of data.graphs) {
    const [a, b] = data.unit_per_count;
    second?.forEach((count, index) => { largest = Math.max(largest, Math.abs(count * b - first[index] * a)); });
  }
  return largest;
}

const changeOf = (node) => (node.values[1] ?? 0) - node.values[0];

function colourOf(node, isDifference, changeMax) {
  if (isDifference) {
    const strength = changeMax ? Math.round((70 * Math.abs(changeOf(node))) / changeMax) : 0;
    return `color-mix(in oklab, var(--flame-${changeOf(node) > 0 ? "more" : "less"}) ${strength}%, var(--flame-none))`;
  }
  let hash = 0;
  for (const letter of node.name.split(".")[0]) hash = (hash * 31 + letter.charCodeAt(0)) % 997;
  return `color-mix(in oklab, var(--flame-warm) ${25 + (hash % 45)}%, var(--flame-none))`;
}

function controls(box, data) {
  const phase = element("select", {});
  for (const graph of data.graphs) phase.append(element("option", { value: graph.phase }, graph.phase));
  const search = element("input", { type: "search", placeholder: "method or class" });
  const reset = element("button", { type: "button", className: "quiet" }, "Reset zoom");
  const bar = element("div", { className: "flame-bar bar" });
  for (const [text, control] of [["Phase", phase], ["Search", search]]) {
    const label = element("label", {}, `${text} `);
    label.append(control);
    bar.append(label);
  }
  bar.append(reset);
  if (box.dataset.timed !== undefined) bar.append(...timeControls(box, data));
  const hits = element("p", { className: "flame-hits" });
  hits.setAttribute("role", "status");
  const detail = element("p", { className: "flame-detail" });
  const holder = element("div", { className: "flame-graph" });
  box.append(bar, hits, holder, detail);
  return { phase, search, reset, hits, detail, holder };
}

/** Return a field for a time of the run, and a button for the whole run while only an interval is shown. */
function timeControls(box, data) {
  const label = element("label", {}, "At second ");
  const time = element("input", { type: "number", step: "any", placeholder: "whole run" });
  label.append(time);
  time.addEventListener("change", () => load(box, time.value));
  if (data.start_s === null) return [label];
  time.value = data.start_s.toFixed(1);
  const whole = element("button", { type: "button", className: "quiet" }, "Whole run");
  whole.addEventListener("click", () => load(box, ""));
  return [label, whole, element("span", {}, `Only ${data.start_s.toFixed(1)} to ${data.end_s.toFixed(1)} s`)];
}

function show(box, data) {
  const isDifference = data.sides.length === 2;
  const { phase, search, reset, hits, detail, holder } = controls(box, data);
  const changeMax = largestChange(data);
  let all, root, items = [];

  const figure = (value) => `${Number(value.toPrecision(3))} ${data.unit}`;
  const share = (node, side) => `${((100 * node.values[side]) / all.values[side] || 0).toFixed(1)} %`;
  function textOf(node) {
    const [first, second] = node.values;
    if (!isDifference) return `${node.name}: ${figure(first)}, ${share(node, 0)} of the phase`;
    const change = changeOf(node);
    return `${node.name}: A ${figure(first)}, B ${figure(second)}, B − A ${change > 0 ? "+" : ""}${figure(change)}`;
  }
  const searchText = () => search.value.trim().toLowerCase();
  const matches = (node) => searchText() && node.name.toLowerCase().includes(searchText());

  function groupOf({ node, x, wide, above }, focused) {
    const group = svgElement("g", { role: "treeitem", tabindex: node === focused ? 0 : -1,
      "aria-level": node.depth + 1, "aria-label": textOf(node), class: above ? "above" : "" });
    if (matches(node)) group.classList.add("hit");
    const y = node.depth * ROW_PX;
    const rect = svgElement("rect", { x, y, width: Math.max(wide - 0.5, 0.3), height: ROW_PX - 1 });
    rect.style.fill = colourOf(node, isDifference, changeMax);
    group.append(rect, svgElement("title", {}, textOf(node)));
    const letters = Math.floor((wide - 6) / LETTER_PX);
    const short = node.name.length > letters ? node.name.split("/").pop() : node.name;
    const text = short.length > letters ? `${short.slice(0, letters - 1)}…` : short;
    if (letters > 2) group.append(svgElement("text", { x: x + 3, y: y + 14 }, text));
    group.addEventListener("click", () => zoom(node));
    group.addEventListener("mouseenter", () => { detail.textContent = textOf(node); });
    group.addEventListener("focus", () => { detail.textContent = textOf(node); });
    return group;
  }

  function draw(focused) {
    const width = Math.max(holder.clientWidth, GRAPH_PX_MIN);
    items = layoutOf(root, width);
    const rows = 1 + items.reduce((deepest, { node }) => Math.max(deepest, node.depth), 0);
    const svg = svgElement("svg", { viewBox: `0 0 ${width} ${rows * ROW_PX}`, role: "tree",
      "aria-label": `${isDifference ? "Difference of two flame graphs" : "Flame graph"}, phase ${phase.value}` });
    for (const item of items) {
      item.group = groupOf(item, focused ?? root);
      svg.append(item.group);
    }
    svg.addEventListener("keydown", keys);
    holder.replaceChildren(svg);
    if (focused) itemOf(focused)?.group.focus();
    showMatches();
  }

  const itemOf = (node) => node && items.find((item) => item.node === node);

  function zoom(node) {
    root = node;
    draw(node);
  }

  /** Say how many frames match the search, and their share of the phase; frames below a match count once. */
  function showMatches() {
    hits.textContent = "";
    if (!searchText()) return;
    let frames = 0;
    const sums = data.sides.map(() => 0), waiting = [[all, false]];
    while (waiting.length) {
      const [node, inside] = waiting.pop(), hit = matches(node);
      if (hit) frames += 1;
      if (hit && !inside) node.values.forEach((value, side) => { sums[side] += value; });
      for (const child of node.children) waiting.push([child, inside || hit]);
    }
    const shares = sums.map((_, side) => `${isDifference ? `${"AB"[side]} ` : ""}${share({ values: sums }, side)}`);
    hits.textContent = `${frames} ${frames === 1 ? "frame matches" : "frames match"}: ${shares.join(", ")} of the phase`;
  }

  function keys(event) {
    const node = items.find((item) => item.group === event.target)?.node;
    if (!node) return;
    const siblings = node.parent ? node.parent.children.filter(itemOf) : [node];
    const at = siblings.indexOf(node);
    const largest = node.children.filter(itemOf).sort((a, b) => b.weight - a.weight)[0];
    const next = { ArrowDown: largest, ArrowUp: node.parent, ArrowLeft: siblings[at - 1], ArrowRight: siblings[at + 1] }[event.key];
    if (event.key === "Enter") zoom(node);
    else if (event.key === "Escape") zoom(root.parent ?? root);
    else if (next) {
      event.target.setAttribute("tabindex", "-1");
      const { group } = itemOf(next);
      group.setAttribute("tabindex", "0");
      group.focus();
    } else if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
  }

  function choose() {
    all = root = treeOf(data.graphs.find((graph) => graph.phase === phase.value), data);
    draw();
  }
  phase.addEventListener("change", choose);
  search.addEventListener("input", () => draw());
  reset.addEventListener("click", () => { root = all; draw(); });
  let drawnPx = 0;
  new ResizeObserver(() => {
    if (!holder.clientWidth || holder.clientWidth === drawnPx) return;
    drawnPx = holder.clientWidth;
    draw();
  }).observe(holder);
  choose();
}

async function dataOf(box, second) {
  if (!box.dataset.source) return JSON.parse(box.querySelector('script[type="application/json"]').textContent);
  const answer = await fetch(`${box.dataset.source}${second === "" ? "" : `?at_s=${encodeURIComponent(second)}`}`);
  const data = await answer.json();
  if (!answer.ok) throw new Error(data.message);
  return data;
}

/** Draw the flame graph of the interval at a second of the run, or of the whole run for an empty text. */
function load(box, second) {
  const number = (box.asked ?? 0) + 1;
  box.asked = number;
  return dataOf(box, second).then((data) => {
    if (number !== box.asked) return; // a later request was sent meanwhile
    box.replaceChildren();
    show(box, data);
  }).catch((error) => {
    box.querySelector(".wrong")?.remove();
    box.append(element("p", { className: "wrong" }, `The flame graph can't be drawn: ${error.message}`));
  });
}

for (const box of document.querySelectorAll(".flame")) {
  load(box, "");
  if (box.dataset.timed !== undefined) document.addEventListener("moment", ({ detail }) => {
    location.hash = "code";
    load(box, String(detail));
  });
}
