// What-if prices: the server prices every change at once. The address has only changed prices. Each change is a step of
// the browser's history, so that Back and Undo restore the previous prices. No file is written.
import { drawAll } from "./charts.js";

const form = document.getElementById("cost-form");
const priced = document.getElementById("priced");
const status = document.getElementById("cost-status");
const book = form.elements.prices;
const STORAGE_KEY = "assay-price-book";
const PAUSE_MS = 250;
const STEP_MS = 1000;
const DEFAULTS = { view: "run", take: "all", years: "3", rounding: "none" };
let timer;
let requestNumber = 0;
let stroke = {};
let isDragging = false;

const fields = () => [...priced.querySelectorAll("input[type=number][data-initial]")];
const rowOf = (name) => priced.querySelector(`tr[data-price="${CSS.escape(name)}"]`);
const edits = () => history.state?.edits ?? 0;

/** Return the query, without default values and without prices that equal the book's. */
function question() {
  const pairs = [...new FormData(form)].filter(([name, value]) =>
    value !== "" && name !== "prices" && DEFAULTS[name] !== value && !name.startsWith("price."));
  for (const field of fields()) {
    if (field.value !== "" && Number(field.value) !== Number(field.dataset.initial)) pairs.push([field.name, field.value]);
  }
  const job = new URLSearchParams(location.search).get("job");
  if (job) pairs.push(["job", job]);
  return new URLSearchParams(pairs);
}

const address = (query) => (String(query) ? `/cost?${query}` : "/cost");

function say(text, again) {
  status.replaceChildren(text);
  status.classList.toggle("wrong", Boolean(text));
  if (!again) return;
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "quiet", textContent: "Try again" });
  button.addEventListener("click", () => price());
  status.append(" ", button);
}

function showEdits() {
  for (const field of fields()) {
    const row = field.closest("tr");
    row.classList.toggle("changed", Number(field.value) !== Number(field.dataset.initial));
    row.querySelector("input[type=range]").value = field.value;
  }
  const undo = document.getElementById("undo");
  if (undo) undo.disabled = edits() === 0;
  document.getElementById("own-prices")?.toggleAttribute("hidden", !priced.querySelector("tr.changed"));
}

/** Show the server's answer; a price that is being dragged keeps its slider. */
function showAnswer(html) {
  const sent = document.createElement("template");
  sent.innerHTML = html; // the server's own page, escaped there; scripts in it would not run
  for (const { id } of priced.querySelectorAll("details[id][open]")) {
    const fold = sent.content.getElementById(id);
    if (fold) fold.open = true;
  }
  const names = (root) => [...root.querySelectorAll("tr[data-price]")].map((row) => row.dataset.price);
  const [shownNames, sentNames] = [names(priced), names(sent.content)];
  const hasOtherPrices = [...shownNames].sort().join("\n") !== [...sentNames].sort().join("\n");
  if (hasOtherPrices || !shownNames.length || (!isDragging && shownNames.join("\n") !== sentNames.join("\n"))) {
    const { type } = document.activeElement;
    const row = document.activeElement.closest("#priced tr[data-price]")?.dataset.price;
    priced.replaceChildren(sent.content);
    if (row) rowOf(row)?.querySelector(`input[type="${type}"]`)?.focus({ preventScroll: true });
  } else {
    for (const row of sent.content.querySelectorAll("tr[data-price]")) {
      for (const cell of ["below", "above"]) {
        const changed = row.querySelector(`td.${cell}`);
        if (changed) rowOf(row.dataset.price).querySelector(`td.${cell}`).replaceWith(changed);
      }
    }
    for (const id of ["answer", "results"]) document.getElementById(id).replaceWith(sent.content.getElementById(id));
  }
  showEdits();
}

async function price() {
  const number = ++requestNumber;
  const query = question();
  const data = new URLSearchParams(query);
  if (book?.value.trim()) data.set("prices", book.value);
  let answer;
  let html;
  try {
    answer = await fetch("/cost/results", { method: "POST", body: data });
    html = await answer.text();
  } catch {
    if (number === requestNumber) say("The server did not answer. The results below are from before this change.", true);
    return;
  }
  if (number !== requestNumber) return;
  if (!answer.ok) {
    const why = answer.status === 401 || answer.status === 403 ? "sign in again" : `error ${answer.status}`;
    say(`The server refused to compute this price (${why}). The results below are from before this change.`, true);
    return;
  }
  say("");
  showAnswer(html);
  await drawAll();
}

/** Put a finished change into the address, as one step of the history; consecutive arrow keys on one price are one step. */
function commit(of) {
  const next = address(question());
  const now = performance.now();
  const continues = of !== undefined && of === stroke.of && now - stroke.at_ms < STEP_MS && edits() > 0;
  stroke = { of, at_ms: now };
  if (next === location.pathname + location.search) return;
  if (continues) history.replaceState(history.state, "", next);
  else history.pushState({ edits: edits() + 1 }, "", next);
  showEdits();
}

function set(name, value) {
  const field = rowOf(name).querySelector("input[type=number]");
  field.value = value;
  showEdits();
  commit();
  price();
}

// A price can change its position in the table when another price changes, but not while it is being dragged.
priced.addEventListener("pointerdown", ({ target }) => { isDragging = target.type === "range"; });
for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => { isDragging = false; });
priced.addEventListener("input", ({ target }) => {
  const row = target.closest("tr[data-price]");
  if (!row) return;
  const field = row.querySelector("input[type=number]");
  if (target.type === "range") field.value = Number(Number(target.value).toPrecision(4));
  if (!field.validity.valid || field.value === "") return;
  showEdits();
  clearTimeout(timer);
  timer = setTimeout(price, PAUSE_MS);
});
priced.addEventListener("change", ({ target }) => {
  const row = target.closest("tr[data-price]");
  if (!row) return;
  const field = row.querySelector("input[type=number]");
  if (field.value === "") field.value = field.dataset.initial;
  if (!field.validity.valid) {
    say(`${row.dataset.price}: ${field.validationMessage}`);
    return;
  }
  clearTimeout(timer);
  commit(row.dataset.price);
  price();
});
priced.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-set]");
  if (link) {
    event.preventDefault();
    set(link.closest("tr").dataset.price, Number(Number(link.dataset.set).toPrecision(6)));
  } else if (event.target.id === "own-prices") {
    event.preventDefault();
    for (const field of fields()) field.value = field.dataset.initial;
    showEdits();
    commit();
    price();
  } else if (event.target.id === "undo") {
    history.back();
  }
});

// Another workload or view has other prices: open another page, with the changed prices that both have.
const go = () => {
  if (form.reportValidity()) location.assign(address(question()));
};
form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (book) price();
  else go();
});
form.addEventListener("change", ({ target }) => {
  if (target === book || target.name.startsWith("price.")) return;
  form.dataset.view = form.elements.view.value;
  if (book) {
    history.replaceState(history.state, "", address(question()));
    price();
  } else {
    go();
  }
});

addEventListener("popstate", () => {
  stroke = {};
  const query = new URLSearchParams(location.search);
  for (const field of fields()) field.value = query.get(field.name) ?? field.dataset.initial;
  showEdits();
  price();
});

if (book) {
  // A pasted price book is too long for an address. It stays in this window, where Back restores it.
  try {
    if (!book.value) book.value = sessionStorage.getItem(STORAGE_KEY) ?? "";
  } catch {
    // The value applies to this page only.
  }
  book.addEventListener("input", () => {
    try {
      sessionStorage.setItem(STORAGE_KEY, book.value);
    } catch {
      // The value applies to this page only.
    }
    clearTimeout(timer);
    timer = setTimeout(price, 2 * PAUSE_MS);
  });
  if (book.value.trim()) price();
}
history.replaceState({ edits: edits() }, "");
showEdits();
