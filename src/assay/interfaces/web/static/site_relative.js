// Relative times of a published site: the geometric mean, over the chosen jobs, of a configuration's mean time / the
// shortest mean time. The part of the address after # has the state. Intervals are t intervals of the mean logarithm,
// with Satterthwaite's degrees of freedom, rounded down; the shortest mean is uncertain, too.
const data = JSON.parse(document.getElementById("relative-data")?.textContent ?? '{"parts": []}');
const JOB = "Workload";
let excluded = new Set();
let partIndex = 0;

const element = (name, values = {}, ...children) => {
  const node = Object.assign(document.createElement(name), values);
  node.append(...children);
  return node;
};
const ratio = (value) => (value < 9.995 ? value.toFixed(2) : value < 99.95 ? value.toFixed(1) : value.toFixed(0));

/** Return the relative time of each chosen configuration that ran every chosen job, the lowest first. */
function scores(part) {
  const jobs = part.jobs.map((_, job) => job).filter((job) => !excluded.has(`${JOB}=${part.jobs[job]}`));
  const chosen = part.cells.map((cells, index) => ({ index, cells: new Map(cells.map((cell) => [cell[0], cell])) }))
    .filter(({ index }) => part.factors.every((factor) => !excluded.has(`${factor.title}=${factor.texts[index]}`)));
  const rows = jobs.length ? chosen.filter(({ cells }) => jobs.every((job) => cells.has(job))) : [];
  const best = new Map(jobs.map((job) => [job, rows.map(({ cells }) => cells.get(job)).reduce((a, b) => (!a || b[2] < a[2] ? b : a), undefined)]));
  for (const row of rows) {
    const pairs = jobs.map((job) => [row.cells.get(job), best.get(job)]);
    row.logs = pairs.map(([cell, shortest]) => cell[2] - shortest[2]);
    const mean = row.logs.reduce((sum, log) => sum + log, 0) / jobs.length;
    row.runs = pairs.reduce((sum, [cell]) => sum + cell[1], 0);
    row.value = Math.exp(mean);
    const parts = pairs.filter(([cell, shortest]) => cell !== shortest).flat();
    const isKnown = parts.every((cell) => cell[3] !== null);
    const total = isKnown ? parts.reduce((sum, cell) => sum + cell[3], 0) : NaN;
    const degrees = (total * total) / parts.reduce((sum, cell) => sum + (cell[3] * cell[3]) / Math.max(1, cell[1] - 1), 0);
    const quantile = data.quantiles[Math.max(0, Math.min(data.quantiles.length, Math.floor(degrees + 1e-9)) - 1)];
    const halfWidth = isKnown && total > 0 ? (quantile * Math.sqrt(total)) / jobs.length : NaN;
    row.ends = halfWidth > 0 ? [Math.exp(mean - halfWidth), Math.exp(mean + halfWidth)] : null;
  }
  return { jobs, rows: rows.sort((a, b) => a.value - b.value || a.index - b.index), partial: chosen.length - rows.length };
}

const nameOf = (part, index) => part.factors.map((factor) => factor.texts[index]).join(", ") || "All runs";

function show() {
  const part = data.parts[partIndex];
  const { jobs, rows, partial } = scores(part);
  const longest = Math.max(1, ...rows.map((row) => row.value));
  const titles = ["Configuration", "Runs", "Relative time", "95 % interval", ...jobs.map((job) => part.jobs[job])];
  document.querySelector("#relative thead").replaceChildren(element("tr", {}, ...titles.map((title, index) =>
    element("th", { scope: "col", className: index === 1 || index === 2 || index > 3 ? "number" : "", textContent: title }))));
  document.querySelector("#relative tbody").replaceChildren(...rows.map((row) => {
    const score = element("td", { className: "number share", textContent: `${ratio(row.value)}×` });
    score.style.setProperty("--share", `${(100 * row.value) / longest}%`);
    const tr = element("tr", {}, element("th", { scope: "row", textContent: nameOf(part, row.index) }),
      element("td", { className: "number", textContent: row.runs }), score,
      element("td", { className: "time", textContent: row.ends ? row.ends.map(ratio).join(" to ") : "–" }),
      ...row.logs.map((log) => element("td", { className: "number", textContent: `${ratio(Math.exp(log))}×` })));
    tr.dataset.computed = JSON.stringify([row.value, ...(row.ends ?? [])]);
    return tr;
  }));
  const notes = [`${rows.length} configurations, ${jobs.length} of ${part.jobs.length} workloads.`];
  if (partial) notes.push(`${partial} left out: they did not run every chosen workload.`);
  if (part.left_out) notes.push(`${part.left_out} configurations with fewer runs are not listed.`);
  document.getElementById("matching").textContent = notes.join(" ");
  document.querySelectorAll("#facets input").forEach((box) => { box.checked = !excluded.has(box.value); });
}

function write() {
  const pairs = new URLSearchParams([...excluded].map((text) => ["without", text]));
  if (partIndex) pairs.set("part", data.parts[partIndex].title);
  history.replaceState(null, "", `#${pairs}`);
}

function makeFacets() {
  const part = data.parts[partIndex];
  const choices = [[JOB, part.jobs], ...part.factors.map(({ title, texts }) => [title, [...new Set(texts)]])];
  document.getElementById("facets").replaceChildren(...choices.map(([title, texts]) => {
    const items = texts.map((text) => {
      const box = element("input", { type: "checkbox", value: `${title}=${text}` });
      box.addEventListener("change", () => { if (box.checked) excluded.delete(box.value); else excluded.add(box.value); write(); show(); });
      return element("li", {}, element("label", {}, box, " ", element("span", { className: "level", textContent: text })));
    });
    return element("details", { className: "facet", open: true }, element("summary", { textContent: title }), element("ul", {}, ...items));
  }));
}

function read() {
  const pairs = new URLSearchParams(location.hash.slice(1));
  excluded = new Set(pairs.getAll("without"));
  partIndex = Math.max(0, data.parts.findIndex((part) => part.title === pairs.get("part")));
  const select = document.getElementById("part");
  if (select) select.value = String(partIndex);
  makeFacets();
  show();
}

if (data.parts.length) {
  const select = document.getElementById("part");
  select?.append(...data.parts.map((part, index) => element("option", { value: index, textContent: part.title })));
  select?.addEventListener("change", () => { partIndex = Number(select.value); excluded.clear(); write(); makeFacets(); show(); });
  addEventListener("hashchange", read);
  if (matchMedia("(max-width: 60rem)").matches) document.getElementById("side").open = false;
  read();
}
