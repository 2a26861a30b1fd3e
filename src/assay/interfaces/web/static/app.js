// Used by every page of the server: applies forms at once, refreshes campaigns, selects runs to compare.
import { drawAll } from "./charts.js";
import "./page.js";

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
    // Runs of other workloads are other jobs: their times can't be compared.
    const workload = boxes().find((box) => box.checked)?.dataset.workload;
    const isOther = (box) => Boolean(workload && box.dataset.workload) && box.dataset.workload !== workload;
    const isFull = chosen.length >= Number(picking.dataset.most);
    for (const box of boxes()) box.disabled = !box.checked && (isFull || isOther(box));
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

// The server writes the report in some seconds. A report that can't be written opens as a page with the reason.
const reportLink = document.getElementById("make-report");
reportLink?.addEventListener("click", async (event) => {
  event.preventDefault();
  if (reportLink.ariaBusy === "true") return;
  const label = reportLink.textContent;
  Object.assign(reportLink, { ariaBusy: "true", textContent: "Making the report…" });
  try {
    const answer = await fetch(reportLink.href);
    if (!answer.ok) {
      location.assign(reportLink.href);
      return;
    }
    const href = URL.createObjectURL(await answer.blob());
    Object.assign(document.createElement("a"), { href, download: reportLink.download }).click();
    setTimeout(() => URL.revokeObjectURL(href), 10_000);
  } finally {
    Object.assign(reportLink, { ariaBusy: "false", textContent: label });
  }
});

// A link to a search that this server does not know starts it, once: a search that fails is shown with its reason.
if (document.getElementById("start-search") && sessionStorage.getItem("assay-search") !== location.search) {
  sessionStorage.setItem("assay-search", location.search);
  document.querySelector("form.recommend").requestSubmit();
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
  let mustReload = [...running.keys()].some((id) => !campaigns.some((campaign) => campaign.campaign_id === id));
  for (const campaign of campaigns) {
    const card = running.get(campaign.campaign_id);
    if (starting.has(String(campaign.pid))) mustReload = true;
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
    if (!started.running) mustReload = true;
    card.querySelector(".current").textContent = started.last_lines.at(-1) ?? "its process is starting";
  }
  if (mustReload) location.reload();
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
if (document.getElementById("size-form")) import("./size.js");
if (document.querySelector(".flame")) import("./flame.js");
if (document.getElementById("price-list")) import("./prices.js");
if (document.getElementById("searching")) import("./search.js");
