// What-if prices: every change is priced by the server at once, and goes into the address; no file is written.
import { drawAll } from "./charts.js";

const form = document.getElementById("cost-form");
const results = document.getElementById("results");
const prices = form.elements.prices;
const own = prices.defaultValue;
let waiting;
let asked = 0;

const pack = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));
const unpack = (text) => new TextDecoder().decode(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)));

async function price() {
  const number = ++asked;
  const data = new URLSearchParams(new FormData(form));
  const answer = await fetch("/cost/results", { method: "POST", body: data });
  const text = await answer.text();
  if (number !== asked || !answer.ok) return;
  results.innerHTML = text; // the server's own page, escaped there; scripts in it would not run
  const query = new URLSearchParams([...data].filter(([name, value]) => name !== "prices" && value !== ""));
  const edited = prices.value === own ? "" : `#prices=${pack(prices.value)}`;
  form.dataset.view = form.elements.view.value;
  history.replaceState(null, "", `/cost?${query}${edited}`);
  await drawAll();
}

form.addEventListener("submit", (event) => { event.preventDefault(); price(); });
form.addEventListener("change", (event) => { if (event.target !== prices) price(); });
prices.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(price, 500); });
document.getElementById("reset")?.addEventListener("click", () => { prices.value = own; price(); });

if (location.hash.startsWith("#prices=")) {
  try {
    prices.value = unpack(location.hash.slice("#prices=".length));
    prices.closest("details").open = true;
    price();
  } catch {
    // A cut link: the server's prices hold.
  }
}
