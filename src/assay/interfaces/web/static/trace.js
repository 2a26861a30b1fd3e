// A run over time: one cursor in all panels. For a dragged span, the server sends full detail.
import { draw } from "./charts.js";

const form = document.getElementById("trace-form");
const drawing = document.getElementById("over-time");
const SPAN_MIN_S = 0.05;
const LISTED_MAX = 12;
let spec = JSON.parse(document.querySelector('script[data-for="over-time"]').textContent);
let requestNumber = 0;
let shownQuery = location.search;

// The cursor, the dragged span and the values at the cursor are above the drawing, not part of it.
const layer = document.createElement("div");
layer.className = "cursor-layer";
layer.innerHTML = '<div class="span" hidden></div><div class="cursor" hidden></div><div class="moment" hidden></div>';
drawing.parentElement.append(layer);
const [span, cursor, moment] = layer.children;

const status = document.createElement("p");
status.setAttribute("role", "status");
form.after(status);
function say(text) {
  status.textContent = text;
  status.classList.toggle("wrong", Boolean(text));
}

async function show(push) {
  const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
  const number = ++requestNumber;
  let answer;
  try {
    const response = await fetch(`/runs/${encodeURIComponent(form.dataset.run)}/over-time?${query}`);
    if (!response.ok) throw new Error(`error ${response.status}`);
    answer = await response.json();
  } catch (error) {
    if (number === requestNumber) say(`The server did not send this span (${error.message}). The drawing shows the previous span.`);
    return;
  }
  if (number !== requestNumber) return; // a later request was sent meanwhile
  say("");
  if (push) {
    history.pushState(null, "", `?${query}${location.hash}`);
    shownQuery = location.search;
  }
  spec = answer;
  panelsOf = undefined;
  hide();
  await draw(drawing, spec);
  drawing.dataset.shown = String(number);
}

/** Return the position of each panel's plot on the screen. */
const plots = () => [...drawing.querySelectorAll("g[class*='concat_'] > g > path.background")].map((plot) => plot.getBoundingClientRect());

let panelsOf;
/** Return each panel's rows: lines by name with their points in order of time, or bars. */
function panels() {
  panelsOf ??= spec.vconcat.map((panel) => {
    const lines = new Map();
    const bars = [];
    for (const row of panel.data.values) {
      if (row.t === undefined) bars.push(row);
      else {
        const name = row.device ? `${row.node} ${row.device}` : row.node;
        if (!lines.has(name)) lines.set(name, []);
        lines.get(name).push(row);
      }
    }
    return { title: panel.title.text, lines, bars };
  });
  return panelsOf;
}

function nearest(points, t) {
  let low = 0;
  let high = points.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (points[middle].t < t) low = middle;
    else high = middle;
  }
  return Math.abs(points[low].t - t) <= Math.abs(points[high].t - t) ? points[low] : points[high];
}

const figure = (value) => (Math.abs(value) >= 100 ? value.toFixed(0) : Number(value.toPrecision(3)).toString());

function valuesAt(panel, t) {
  if (panel.lines.size) {
    const rows = [...panel.lines].map(([name, points]) => [name, nearest(points, t).value]).sort((a, b) => b[1] - a[1]);
    const more = rows.length - LISTED_MAX;
    return [...rows.slice(0, LISTED_MAX).map(([name, value]) => `${name}: ${figure(value)}`), ...(more > 0 ? [`and ${more} lower`] : [])];
  }
  const counts = new Map();
  const cells = panel.bars.filter((bar) => bar.value !== undefined && bar.start <= t && t < bar.end);
  if (cells.length) return cells.sort((a, b) => b.value - a.value).map((cell) => `${cell.row}: ${figure(cell.value)}`);
  for (const bar of panel.bars) if (bar.value === undefined && bar.start <= t && t < bar.end) counts.set(bar.phase, (counts.get(bar.phase) ?? 0) + 1);
  const tasks = panel.bars.some((bar) => bar.row !== bar.phase);
  const rows = [...counts].map(([name, number]) => (tasks ? `${name}: ${number}` : name));
  return rows.length ? rows : ["nothing"];
}

function hide() {
  cursor.hidden = moment.hidden = span.hidden = true;
}

/** Return the panel and the time under the pointer. */
function at(event) {
  const areas = plots();
  if (!areas.length) return undefined;
  const { left, right } = areas[0];
  const [start, end] = spec.vconcat[0].encoding.x.scale.domain;
  const x = Math.min(right, Math.max(left, event.clientX));
  const t = start + ((x - left) / (right - left)) * (end - start);
  const index = areas.findIndex((plot) => event.clientY >= plot.top - 8 && event.clientY <= plot.bottom + 8);
  return { areas, x, t, index, inside: event.clientX >= left && event.clientX <= right };
}

let dragStart;
function follow(event) {
  const now = at(event);
  if (!now || (!now.inside && dragStart === undefined)) return hide();
  const box = layer.getBoundingClientRect();
  const top = now.areas[0].top - box.top;
  const height = now.areas.at(-1).bottom - now.areas[0].top;
  Object.assign(cursor.style, { left: `${now.x - box.left}px`, top: `${top}px`, height: `${height}px` });
  cursor.hidden = false;
  if (dragStart !== undefined) {
    const left = Math.min(dragStart.x, now.x);
    Object.assign(span.style, { left: `${left - box.left}px`, top: `${top}px`, width: `${Math.abs(now.x - dragStart.x)}px`, height: `${height}px` });
    span.hidden = false;
  }
  const panel = panels()[now.index];
  moment.replaceChildren(...[`${now.t.toFixed(1)} s`, ...(panel ? [panel.title, ...valuesAt(panel, now.t)] : [])].map((text) => {
    const line = document.createElement("div");
    line.textContent = text;
    return line;
  }));
  moment.hidden = false;
  const right = now.x - box.left + 12 + moment.offsetWidth > box.width;
  Object.assign(moment.style, {
    left: right ? "" : `${now.x - box.left + 12}px`,
    right: right ? `${box.right - now.x + 12}px` : "",
    top: `${Math.max(0, event.clientY - box.top + 14)}px`,
  });
}

drawing.addEventListener("pointermove", follow);
drawing.addEventListener("pointerleave", () => { if (dragStart === undefined) hide(); });
drawing.addEventListener("pointerdown", (event) => {
  const now = at(event);
  if (event.button !== 0 || !now?.inside) return;
  dragStart = now;
  drawing.setPointerCapture(event.pointerId);
  event.preventDefault(); // do not select text of the drawing
});
drawing.addEventListener("pointerup", (event) => {
  const now = at(event);
  const begin = dragStart;
  dragStart = undefined;
  hide();
  if (!begin || !now) return;
  const [start, end] = [begin.t, now.t].sort((a, b) => a - b);
  const domain = spec.vconcat[0].encoding.x.scale.domain;
  if (end - start < Math.max(SPAN_MIN_S, (domain[1] - domain[0]) / 200)) { // a click, no span
    document.dispatchEvent(new CustomEvent("moment", { detail: now.t }));
    return;
  }
  const digits = end - start < 2 ? 3 : 1;
  form.elements.start_s.value = start.toFixed(digits);
  form.elements.end_s.value = end.toFixed(digits);
  show(true);
});
drawing.addEventListener("pointercancel", () => { dragStart = undefined; hide(); });

form.addEventListener("submit", (event) => { event.preventDefault(); show(true); });
form.addEventListener("change", () => show(true));
// A tab changes only the fragment, so the page is not reloaded.
addEventListener("popstate", () => { if (location.search !== shownQuery) location.reload(); });
document.getElementById("whole").addEventListener("click", (event) => {
  event.preventDefault();
  form.elements.start_s.value = form.elements.end_s.value = "";
  show(true);
});
