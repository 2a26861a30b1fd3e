// Prices of a published site: the browser computes cost per run = time × sum of price × factor, and sorts the rows.
// The part of the address after # has the changed prices. At the book's prices, the page shows the published verdicts.
const HOUR_S = 3600;
const text = document.getElementById("cost-data")?.textContent;
const data = text ? JSON.parse(text) : { currency: "", prices: [], jobs: [] };
const rows = [...document.querySelectorAll("tr[data-price]")];
const jobs = [...document.querySelectorAll("section.job")].map((section, index) => ({
  section,
  rows: [...section.querySelectorAll("tbody tr")].map((row, position) => ({ row, ...data.jobs[index][position] })),
}));
const reset = document.getElementById("reset");
const published = new Map();
for (const cell of document.querySelectorAll("[data-rate], [data-cost], [data-interval], [data-verdict]")) published.set(cell, cell.textContent);
const SIGNS = { USD: "$", EUR: "€", GBP: "£" };

/** Return an amount as the published pages show it. */
function money(value) {
  let digits = value.toExponential(2);
  if (value >= 100 || value === 0) digits = Math.round(value).toLocaleString("en");
  else if (value >= 0.1) digits = value.toFixed(2);
  else if (value >= 1e-4) digits = value.toPrecision(3);
  const sign = SIGNS[data.currency];
  return sign ? sign + digits : `${digits} ${data.currency}`;
}

const inputs = (row) => [...row.querySelectorAll("input")];
const priceOf = (row) => {
  const value = inputs(row)[0].valueAsNumber;
  return value >= 0 ? value : Number(inputs(row)[0].defaultValue);
};

function show() {
  const prices = rows.map(priceOf);
  const changed = prices.some((price, index) => price !== data.prices[index]);
  rows.forEach((row, index) => row.classList.toggle("changed", prices[index] !== data.prices[index]));
  if (reset) reset.disabled = !changed;
  for (const { section, rows: priced } of jobs) {
    for (const entry of priced) {
      entry.rate = entry.factors.reduce((sum, [price, factor]) => sum + prices[price] * factor, 0);
      entry.now = (entry.rate * entry.time_s) / HOUR_S;
      entry.row.dataset.computed = String(entry.now);
      showRow(entry, changed);
    }
    const order = changed ? [...priced].sort((a, b) => a.now - b.now || a.time_s - b.time_s) : priced;
    section.querySelector("tbody").append(...order.map(({ row }) => row));
    section.querySelector("[data-headline]").hidden = changed;
    const sentence = section.querySelector("[data-changed]");
    sentence.hidden = !changed;
    sentence.textContent = changed
      ? `At these prices, the lowest mean cost is ${money(order[0].now)} per run: ${order[0].name}. This is no verdict: the means are over runs that are not matched.`
      : "";
  }
}

function showRow({ row, rate, now, time_s, time_low_s, time_high_s, cost }, changed) {
  const cells = { rate: money(rate), verdict: "–", interval: "–" };
  cells.cost = money(now) + (Math.abs(now - cost) <= 1e-9 * cost ? "" : ` (was ${money(cost)})`);
  if (time_low_s !== null && time_high_s !== null) {
    cells.interval = `${money((now * time_low_s) / time_s)} to ${money((now * time_high_s) / time_s)}`;
  }
  for (const [name, content] of Object.entries(cells)) {
    const cell = row.querySelector(`[data-${name}]`);
    cell.textContent = changed ? content : published.get(cell);
  }
}

function write() {
  const pairs = new URLSearchParams();
  rows.forEach((row, index) => { if (priceOf(row) !== data.prices[index]) pairs.set(`price.${row.dataset.price}`, priceOf(row)); });
  history.replaceState(null, "", `#${pairs}`);
}

function read() {
  const pairs = new URLSearchParams(location.hash.slice(1));
  rows.forEach((row, index) => {
    const given = Number(pairs.get(`price.${row.dataset.price}`) ?? NaN);
    for (const input of inputs(row)) input.value = given >= 0 ? given : data.prices[index];
    if (given >= 0) document.getElementById("prices").open = true;
  });
  show();
}

for (const row of rows) {
  const [number, range] = inputs(row);
  number.addEventListener("input", () => { range.value = number.value; show(); write(); });
  range.addEventListener("input", () => { number.value = Number(range.valueAsNumber.toPrecision(4)); show(); write(); });
}
reset?.addEventListener("click", () => { history.replaceState(null, "", "#"); read(); });
addEventListener("hashchange", read);
read();
