// The list of runs of a published site: filters, order and pages, computed in the browser from data/runs.js.
// The part of the address after # has the state, so a copied link shows the same list.
const PAGE_RUNS = 50;
const FACETS_OPEN = 5;
const data = globalThis.assayRuns;
const count = data.ids.length;
const columns = new Map(data.columns.map((column) => [column.name, { ...column, codes: Int32Array.from(column.codes) }]));
const facets = [...columns.values()].filter((column) => column.filter.length > 1);
const shown = data.shown.map((name) => columns.get(name));
const linkedIds = data.linked === "all" ? null : new Set(data.linked);
const hasStartTimes = data.started_unix_s.some((started) => started !== null);
const number = new Intl.NumberFormat("en");

const element = (name, values = {}, ...children) => {
  const node = Object.assign(document.createElement(name), values);
  node.append(...children);
  return node;
};
const seconds = (value) => value === null ? "–" : new Intl.NumberFormat("en", value < 100
  ? { minimumFractionDigits: 1, maximumFractionDigits: 1 } : { maximumFractionDigits: 0 }).format(value);
const moment = (unix_s) => unix_s === null ? "–" : new Date(1000 * unix_s).toISOString().slice(0, 16).replace("T", " ");

function stateOf(hash) {
  const pairs = new URLSearchParams(hash.slice(1));
  const where = new Map();
  for (const condition of pairs.getAll("where")) {
    const cut = condition.indexOf("=");
    const column = columns.get(condition.slice(0, cut));
    const code = column ? column.levels.indexOf(condition.slice(cut + 1)) : -1;
    if (code >= 0) where.set(column.name, (where.get(column.name) ?? new Set()).add(code));
  }
  const sort = pairs.get("sort") ?? (hasStartTimes ? "-started_unix_s" : "duration_s");
  return { where, sort, offset: Math.max(0, Number.parseInt(pairs.get("offset") ?? "0", 10) || 0) };
}

function hashOf(state) {
  const pairs = new URLSearchParams();
  for (const [name, codes] of state.where) for (const code of codes) pairs.append("where", `${name}=${columns.get(name).levels[code]}`);
  if (state.sort !== (hasStartTimes ? "-started_unix_s" : "duration_s")) pairs.set("sort", state.sort);
  if (state.offset) pairs.set("offset", state.offset);
  return `#${pairs}`;
}

/** Return the matching rows, and for each level of a facet the rows that match the conditions on all other columns. */
function select(where) {
  const conditions = [...where].map(([name, codes]) => ({ name, codes, columnCodes: columns.get(name).codes }));
  const rows = [];
  const counts = facets.map((column) => new Int32Array(column.levels.length));
  const positions = new Map(facets.map((column, index) => [column.name, index]));
  for (let row = 0; row < count; row++) {
    let failures = 0;
    let failedName = null;
    for (const condition of conditions) {
      if (!condition.codes.has(condition.columnCodes[row])) { failures++; failedName = condition.name; if (failures > 1) break; }
    }
    if (failures > 1) continue;
    if (!failures) rows.push(row);
    const failedFacet = failures ? positions.get(failedName) : undefined;
    if (failures && failedFacet === undefined) continue;
    for (let index = failures ? failedFacet : 0; index < (failures ? failedFacet + 1 : facets.length); index++) {
      const code = facets[index].codes[row];
      if (code >= 0) counts[index][code]++;
    }
  }
  return { rows, counts };
}

function sorted(rows, sort) {
  const descending = sort.startsWith("-");
  const name = descending ? sort.slice(1) : sort;
  const column = columns.get(name);
  const rank = column && column.texts.map((text, code) => [text, code]).sort((a, b) => a[0].localeCompare(b[0], "en", { numeric: true }))
    .reduce((ranks, [, code], position) => { ranks[code] = position; return ranks; }, []);
  const values = column ? Array.from(column.codes, (code) => code < 0 ? null : rank[code]) : data[name] ?? data.duration_s;
  const sign = descending ? -1 : 1;
  return rows.sort((a, b) => {
    if (values[a] === null || values[b] === null) return (values[a] === null) - (values[b] === null) || a - b;
    return sign * (values[a] - values[b]) || a - b;
  });
}

let state = stateOf(location.hash);
function go(changes) {
  state = { ...state, offset: 0, ...changes };
  history.replaceState(null, "", hashOf(state));
  show();
}

function toggled(name, code) {
  const where = new Map([...state.where].map(([column, codes]) => [column, new Set(codes)]));
  const codes = where.get(name) ?? new Set();
  if (!codes.delete(code)) codes.add(code);
  if (codes.size) where.set(name, codes);
  else where.delete(name);
  return where;
}

const levels = new Map();
function makeFacets() {
  facets.forEach((column, index) => {
    const list = element("ul");
    for (const code of column.filter) {
      const box = element("input", { type: "checkbox", value: `${column.name}=${column.levels[code]}` });
      const figure = element("span", { className: "count" });
      box.addEventListener("change", () => go({ where: toggled(column.name, code) }));
      const item = element("li", {}, element("label", {}, box, " ",
        element("span", { className: "level", title: column.levels[code], textContent: column.texts[code] }), " ", figure));
      levels.set(`${index} ${code}`, { box, figure, item });
      list.append(item);
    }
    const facet = element("details", { className: "facet", open: index < FACETS_OPEN || state.where.has(column.name) },
      element("summary", { textContent: column.title }), list);
    document.getElementById("facets").append(facet);
  });
}

function showFacets(counts) {
  facets.forEach((column, index) => {
    for (const code of column.filter) {
      const { box, figure, item } = levels.get(`${index} ${code}`);
      box.checked = state.where.get(column.name)?.has(code) ?? false;
      figure.textContent = number.format(counts[index][code]);
      item.classList.toggle("none", !counts[index][code]);
    }
  });
}

function showChips() {
  const chips = [...state.where].flatMap(([name, codes]) => [...codes].map((code) => {
    const column = columns.get(name);
    const link = element("a", { href: hashOf({ ...state, where: toggled(name, code), offset: 0 }), textContent: `${column.title}: ${column.texts[code]} ×` });
    link.setAttribute("aria-label", `Remove the condition ${column.title} is ${column.texts[code]}`);
    return element("li", {}, link);
  }));
  if (chips.length) chips.push(element("li", {}, element("a", { className: "clear", href: hashOf({ ...state, where: new Map(), offset: 0 }), textContent: "Remove all" })));
  document.getElementById("chips").replaceChildren(...chips);
}

function header(name, title, numeric = false) {
  const cell = element("th", { scope: "col", className: numeric ? "number" : "" });
  cell.setAttribute("aria-sort", state.sort === name ? "ascending" : state.sort === `-${name}` ? "descending" : "none");
  cell.append(element("a", { href: hashOf({ ...state, sort: state.sort === name ? `-${name}` : name, offset: 0 }), textContent: title }));
  return cell;
}

function levelCell(column, row) {
  const code = column.codes[row];
  const cell = element("td", { textContent: code < 0 ? "–" : column.texts[code] });
  if (code < 0 || !column.paths.length) return cell;
  const SVG = "http://www.w3.org/2000/svg";
  const dot = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  dot.setAttribute("class", "dot");
  dot.setAttribute("viewBox", "0 0 10 10");
  dot.setAttribute("aria-hidden", "true");
  path.setAttribute("d", column.paths[code]);
  path.setAttribute("fill", column.colours[code]);
  dot.append(path);
  cell.replaceChildren(element("span", { className: "config" }, dot, column.texts[code]));
  return cell;
}

function badge(name, row, kind, suffix = "") {
  const column = columns.get(name);
  const level = column && column.codes[row] >= 0 ? column.levels[column.codes[row]] : "";
  return element("td", {}, element("span", { className: `badge ${kind}-${level}`, textContent: level + suffix }));
}

function rowOf(row, longest) {
  const id = element("code", { textContent: data.ids[row].slice(0, 8), title: data.ids[row] });
  const hasPage = !linkedIds || linkedIds.has(data.ids[row]);
  const scale = columns.get("lab_scale");
  const lab = scale && scale.codes[row] >= 0 ? `, lab ${scale.texts[scale.codes[row]]}` : "";
  const time = element("td", { className: "number share", textContent: seconds(data.duration_s[row]) });
  time.style.setProperty("--share", `${(100 * (data.duration_s[row] ?? 0)) / longest}%`);
  return element("tr", {},
    element("th", { scope: "row" }, hasPage ? element("a", { href: `runs/${data.ids[row]}.html` }, id) : id),
    ...(hasStartTimes ? [element("td", { className: "time", textContent: moment(data.started_unix_s[row]) })] : []),
    ...shown.map((column) => levelCell(column, row)),
    time, badge("status", row, "status"), badge("origin", row, "origin", lab));
}

function showRows(rows) {
  const page = rows.slice(state.offset, state.offset + PAGE_RUNS);
  const longest = Math.max(1e-9, ...page.map((row) => data.duration_s[row] ?? 0));
  document.querySelector("#runs thead").replaceChildren(element("tr", {}, element("th", { scope: "col", textContent: "Run" }),
    ...(hasStartTimes ? [header("started_unix_s", "Started (UTC)")] : []), ...shown.map((column) => header(column.name, column.title)),
    header("duration_s", "Time (s)", true), element("th", { scope: "col", textContent: "Status" }), element("th", { scope: "col", textContent: "Origin" })));
  document.querySelector("#runs tbody").replaceChildren(...page.map((row) => rowOf(row, longest)));
  const link = (offset, text) => element("a", { href: hashOf({ ...state, offset }), textContent: text });
  document.getElementById("pages").replaceChildren(
    state.offset ? link(Math.max(0, state.offset - PAGE_RUNS), "← Previous") : element("span"),
    element("span", { textContent: page.length ? `${number.format(state.offset + 1)} to ${number.format(state.offset + page.length)}` : "No run matches" }),
    state.offset + PAGE_RUNS < rows.length ? link(state.offset + PAGE_RUNS, "Next →") : element("span"));
}

function show() {
  const { rows, counts } = select(state.where);
  if (state.offset >= rows.length) state.offset = 0;
  document.getElementById("matching").replaceChildren(element("b", { textContent: number.format(rows.length) }), ` of ${number.format(count)} runs match`);
  showChips();
  showFacets(counts);
  showRows(sorted(rows, state.sort));
}

addEventListener("hashchange", () => { state = stateOf(location.hash); show(); });
makeFacets();
if (matchMedia("(max-width: 60rem)").matches) document.getElementById("side").open = false;
show();
