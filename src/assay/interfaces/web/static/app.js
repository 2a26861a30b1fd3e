// Used by every page: switches the theme, applies forms at once, refreshes campaigns, selects runs to compare.
import { drawAll } from "./charts.js";

const root = document.documentElement;

function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

document.getElementById("theme")?.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  try {
    localStorage.setItem("assay-theme", root.dataset.theme);
  } catch {
    // The value applies to this page only.
  }
});

// Leave empty fields out of the address.
for (const form of document.querySelectorAll('form[method="get"]:not([data-whole])')) {
  form.addEventListener("formdata", ({ formData }) => {
    for (const name of new Set(formData.keys())) {
      const values = formData.getAll(name).filter((value) => value !== "");
      formData.delete(name);
      for (const value of values) formData.append(name, value);
    }
  });
}
addEventListener("pageshow", () => {
  for (const field of document.querySelectorAll("form [name]:disabled")) field.disabled = false;
});

for (const form of document.querySelectorAll("form[data-auto]")) {
  form.addEventListener("change", (event) => {
    // Another factor has other levels, so the server chooses the baseline.
    if (event.target.name === "by") form.elements.baseline?.setAttribute("disabled", "");
    form.requestSubmit();
  });
}

/** Copy text. Without TLS, browsers offer no clipboard API, so a field is selected and copied. */
async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = Object.assign(document.createElement("textarea"), { value: text });
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}

/** Copy text and say so on the button for two seconds. */
async function copyAt(button, text) {
  const label = button.textContent;
  await copy(text);
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = label; }, 2000);
}

document.getElementById("copy-link")?.addEventListener("click", ({ target }) => copyAt(target, location.href));
for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", () => copyAt(button, button.dataset.copy));
}

// Mark a table that continues to the right, until it is scrolled to its end.
const wide = (box) => box.classList.toggle("more", box.scrollWidth - box.clientWidth - box.scrollLeft > 2);
const sizes = new ResizeObserver((entries) => { for (const { target } of entries) wide(target); });
const watched = new WeakSet();
function watch() {
  for (const box of document.querySelectorAll(".scroll")) {
    if (watched.has(box)) continue;
    watched.add(box);
    sizes.observe(box);
    box.addEventListener("scroll", () => wide(box), { passive: true });
  }
}
watch();
new MutationObserver(watch).observe(document.getElementById("main"), { childList: true, subtree: true });

const filters = document.getElementById("filters");
if (filters) {
  filters.classList.add("automatic");
  filters.addEventListener("change", (event) => { if (event.target.form === filters) filters.requestSubmit(); });
  filters.addEventListener("submit", () => {
    // Leave the default columns out of the address, too.
    const boxes = [...filters.querySelectorAll("[name=columns]")];
    const chosen = boxes.filter((box) => box.checked).map((box) => box.value).sort().join(" ");
    if (chosen === filters.dataset.columns.split(" ").sort().join(" ")) for (const box of boxes) box.disabled = true;
  });
  const side = document.getElementById("side");
  if (matchMedia("(max-width: 60rem)").matches) side.open = false;
}

// Runs that are chosen for a comparison: show their number, and keep them in the address and in every link.
const picking = document.getElementById("compare");
if (picking) {
  const boxes = () => [...picking.elements].filter((field) => field.type === "checkbox");
  const show = () => {
    const chosen = new FormData(picking).getAll("run");
    document.getElementById("picked").textContent = chosen.length;
    picking.toggleAttribute("data-none", chosen.length === 0);
    for (const button of picking.querySelectorAll("button")) button.disabled = chosen.length < 2;
    for (const box of boxes()) box.disabled = !box.checked && chosen.length >= Number(picking.dataset.most);
    return chosen;
  };
  const withPicks = (address, chosen) => {
    const url = new URL(address, location.href);
    url.searchParams.delete("pick");
    for (const id of chosen) url.searchParams.append("pick", id);
    return url.pathname + url.search;
  };
  document.addEventListener("change", (event) => {
    if (event.target.form !== picking) return;
    const chosen = show();
    history.replaceState(null, "", withPicks(location.href, chosen));
    for (const link of document.querySelectorAll("main a[href^='/runs?'], main a[href='/runs']")) {
      if (!link.classList.contains("unpick")) link.setAttribute("href", withPicks(link.href, chosen));
    }
    for (const old of filters.querySelectorAll("input[name=pick]")) old.remove();
    for (const id of chosen) {
      const field = document.createElement("input");
      Object.assign(field, { type: "hidden", name: "pick", value: id });
      filters.append(field);
    }
  });
  show();
}

const get = async (address) => {
  const answer = await fetch(address);
  return answer.ok ? answer.json() : [];
};

/** Update the cards of campaigns; reload the page when a campaign starts or ends. */
async function follow() {
  const cards = (kind) => new Map([...document.querySelectorAll(`[data-${kind}]`)].map((card) => [card.dataset[kind], card]));
  const [starting, running] = [cards("starting"), cards("campaign")];
  const campaigns = (await get("/api/v1/campaigns")).filter((campaign) => campaign.running);
  let gone = [...running.keys()].some((id) => !campaigns.some((campaign) => campaign.campaign_id === id));
  for (const campaign of campaigns) {
    const card = running.get(campaign.campaign_id);
    if (starting.has(String(campaign.pid))) gone = true;
    if (!card) continue;
    card.querySelector("progress").value = campaign.done;
    card.querySelector(".ended").textContent = campaign.done;
    const now = campaign.title ?? "between runs";
    card.querySelector(".current").textContent = campaign.phase ? `${now}: ${campaign.phase}` : now;
    const left = Math.max(0, Math.round(campaign.left_s ?? 0));
    card.querySelector(".left").textContent = campaign.left_s === null ? ""
      : `; about ${left < 60 ? `${left} s` : `${Math.floor(left / 60)} min ${String(left % 60).padStart(2, "0")} s`} left`;
  }
  for (const started of starting.size ? await get("/api/v1/plan/started") : []) {
    const card = starting.get(String(started.pid));
    if (!card) continue;
    if (!started.running) gone = true;
    card.querySelector(".current").textContent = started.last_lines.at(-1) ?? "its process is starting";
  }
  if (gone) location.reload();
}

if (document.querySelector("[data-campaign], [data-starting]")) setInterval(() => follow().catch(() => {}), 3000);

/** Reload a tuning's page when one of its runs has ended. */
async function followTuning(section) {
  const state = await get(`/api/v1/tuning/${section.dataset.tuning}`);
  if (state.complete || (state.trials && state.trials.length !== Number(section.dataset.trials))) location.reload();
}

const tuning = document.querySelector("[data-tuning]");
if (tuning) setInterval(() => followTuning(tuning).catch(() => {}), 3000);

drawAll();
if (document.getElementById("cost-form")) import("./cost.js");
if (document.getElementById("run-tabs")) import("./tabs.js");
if (document.getElementById("trace-form")) import("./trace.js");
if (document.getElementById("plan-form")) import("./plan.js");
if (document.getElementById("whatif-form")) import("./whatif.js");
if (document.querySelector(".flame")) import("./flame.js");
if (document.getElementById("searching")) import("./search.js");
