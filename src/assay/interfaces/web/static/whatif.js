// What-if sliders: the server answers during dragging, one request at a time, always the latest. The address has the
// values that differ from the measured ones. Each finished change is a step of the browser's history.
import { drawAll } from "./charts.js";

const form = document.getElementById("whatif-form");
const controls = document.getElementById("controls");
const answer = document.getElementById("answer");
const status = document.getElementById("whatif-status");
const start = document.getElementById("whatif-start");
let isRequested = false;
let isBusy = false;

// The prices of parts that the price book lacks are in the answer.
const fields = () => [...controls.querySelectorAll("[data-initial]"), ...answer.querySelectorAll("[data-initial]")];
const differs = (field) => field.value !== "" && (field.type === "number"
  ? Number(field.value) !== Number(field.dataset.initial) : field.value !== field.dataset.initial);

function question(run = controls.dataset.run) {
  const pairs = [["run", run]];
  if (form.elements.cluster) pairs.unshift(["cluster", form.elements.cluster.value]);
  for (const field of fields()) if (differs(field)) pairs.push([field.name, field.value]);
  return new URLSearchParams(pairs);
}

// A slider's thousand positions are evenly spaced on a logarithmic scale, from an eighth to eight times the measured value.
const span = (range) => [Math.log(Number(range.dataset.least)), Math.log(Number(range.dataset.most))];

function valueAt(range) {
  const [low, high] = span(range);
  const value = Math.exp(low + (high - low) * Number(range.value) / 1000);
  return "whole" in range.dataset ? Math.max(1, Math.round(value)) : Number(value.toPrecision(3));
}

function positionOf(range, value) {
  const [low, high] = span(range);
  return Math.round(1000 * (Math.log(Math.max(Number(value), Number(range.dataset.least))) - low) / (high - low || 1));
}

function show() {
  for (const field of fields()) {
    const control = field.closest(".control");
    if (!control) continue;
    control.classList.toggle("changed", differs(field));
    const range = control.querySelector("input[type=range]");
    if (range && document.activeElement !== range) range.value = positionOf(range, field.value);
  }
  start.hidden = !fields().some(differs);
}

function say(text) {
  status.textContent = text;
  status.classList.toggle("wrong", Boolean(text));
}

// With many configurations, the shown one is answered first: simulating all of them takes longer than a slider's step.
const ROWS_AT_ONCE_MAX = 6;
const shownOnlyOfRequests = answer && answer.querySelectorAll("#whatif-rows tbody tr").length > ROWS_AT_ONCE_MAX ? [true, false] : [false];

async function results(shownOnly) {
  const body = question();
  if (shownOnly) body.append("shown_only", "1");
  const response = await fetch("/whatif/results", { method: "POST", body });
  if (!response.ok) throw new Error(response.status === 401 || response.status === 403 ? "sign in again" : `error ${response.status}`);
  return response.text();
}

async function ask() {
  isRequested = true;
  if (isBusy) return;
  isBusy = true;
  while (isRequested) {
    isRequested = false;
    try {
      for (const shownOnly of shownOnlyOfRequests) {
        const html = await results(shownOnly);
        if (isRequested) break;
        answer.innerHTML = html; // the server's own page, escaped there; scripts in it do not run
        say("");
        await drawAll();
      }
    } catch (error) {
      say(`The server did not answer (${error.message}). The results below are from before this change.`);
    }
  }
  isBusy = false;
}

function commit() {
  const next = `/whatif?${question()}`;
  if (next !== location.pathname + location.search) history.pushState({}, "", next);
}

function changed(done) {
  show();
  if (done) commit();
  ask();
}

if (controls) {
  controls.addEventListener("input", ({ target }) => {
    const field = target.closest(".control")?.querySelector("[data-initial]");
    if (!field || target.type === "text") return; // a text is sent when it is complete
    if (target.type === "range") field.value = valueAt(target);
    if (field.validity.valid && field.value !== "") changed(false);
  });
  controls.addEventListener("change", ({ target }) => {
    const field = target.closest(".control")?.querySelector("[data-initial]");
    if (!field) return;
    if (field.value === "") field.value = field.dataset.initial;
    if (field.validity.valid) changed(true);
    else say(`${field.name}: ${field.validationMessage}`);
  });
  controls.addEventListener("click", ({ target }) => {
    const button = target.closest("button.step");
    if (!button) return;
    const field = button.closest(".control").querySelector("[data-initial]");
    const by = Number(button.dataset.step);
    const value = Number(field.value);
    field.value = field.step === "1" ? Math.max(1, value + by) : Number((value * (by > 0 ? 1.25 : 0.8)).toPrecision(3));
    changed(true);
  });
  addEventListener("popstate", () => {
    const query = new URLSearchParams(location.search);
    for (const field of fields()) {
      const text = query.get(field.name) ?? field.dataset.initial;
      field.value = field.type === "number" ? parseFloat(text) : text;
    }
    show();
    ask();
  });
  start.addEventListener("click", (event) => {
    event.preventDefault();
    for (const field of fields()) field.value = field.dataset.initial;
    changed(true);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const run = form.elements.run.value;
    if (run === controls.dataset.run) changed(true); // Enter in a field, or Simulate
    else location.assign(`/whatif?${question(run)}`); // another measured run, with the same changes
  });
  document.getElementById("whatif-run").addEventListener("change", () => form.requestSubmit());
  show();
}
