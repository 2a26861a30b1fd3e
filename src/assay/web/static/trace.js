// Looks closer at a trace: a span that is dragged is asked of the server in full detail, and goes into the address.
import { draw } from "./charts.js";

const form = document.getElementById("trace-form");
const place = document.getElementById("trace");
let waiting;
let asked = 0;

async function show(push) {
  const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
  const number = ++asked;
  const answer = await fetch(`/runs/${encodeURIComponent(form.dataset.run)}/trace-chart?${query}`);
  if (!answer.ok) return;
  const spec = await answer.json();
  if (number !== asked) return; // a later question was asked meanwhile
  if (push) history.pushState(null, "", `?${query}`);
  listen(await draw(place, spec));
}

function listen(view) {
  view.addSignalListener("span", (_, span) => {
    clearTimeout(waiting);
    if (!span.t) return;
    const [start, end] = span.t;
    waiting = setTimeout(() => {
      if (end - start < 0.5) return;
      form.elements.start_s.value = Math.max(0, start).toFixed(1);
      form.elements.end_s.value = end.toFixed(1);
      show(true);
    }, 350);
  });
}

place.addEventListener("drawn", (event) => listen(event.detail));
form.addEventListener("submit", (event) => { event.preventDefault(); show(true); });
form.addEventListener("change", () => show(true));
addEventListener("popstate", () => location.reload());
document.getElementById("whole").addEventListener("click", (event) => {
  event.preventDefault();
  form.elements.start_s.value = form.elements.end_s.value = "";
  show(true);
});
