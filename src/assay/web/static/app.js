// What every page does: draws its charts, switches the theme, applies forms at once.
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
    // It holds for this page then.
  }
});

// Empty fields do not belong in an address.
for (const form of document.querySelectorAll('form[method="get"]:not([data-whole])')) {
  form.addEventListener("submit", () => {
    for (const field of form.elements) if (field.name && field.value === "") field.disabled = true;
  });
}
addEventListener("pageshow", () => {
  for (const field of document.querySelectorAll("form [name]:disabled")) field.disabled = false;
});

for (const form of document.querySelectorAll("form[data-auto]")) {
  form.addEventListener("change", (event) => {
    // Another factor has other levels: the server chooses the baseline then.
    if (event.target.name === "by") form.elements.baseline?.setAttribute("disabled", "");
    form.requestSubmit();
  });
}

const filters = document.getElementById("filters");
if (filters) {
  filters.classList.add("automatic");
  filters.addEventListener("change", (event) => { if (event.target.form === filters) filters.requestSubmit(); });
  filters.addEventListener("submit", () => {
    // The usual columns do not belong in an address either.
    const boxes = [...filters.querySelectorAll("[name=columns]")];
    const chosen = boxes.filter((box) => box.checked).map((box) => box.value).sort().join(" ");
    if (chosen === filters.dataset.columns.split(" ").sort().join(" ")) for (const box of boxes) box.disabled = true;
  });
  const side = document.getElementById("side");
  if (matchMedia("(max-width: 60rem)").matches) side.open = false;
}

// Runs that are chosen to be compared: their number is shown at once, and the address and every link on keep them.
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

const live = document.querySelectorAll("[data-campaign]");
if (live.length) {
  setInterval(async () => {
    const answer = await fetch("/api/v1/campaigns");
    if (!answer.ok) return;
    for (const campaign of await answer.json()) {
      const card = document.querySelector(`[data-campaign="${CSS.escape(campaign.campaign_id)}"]`);
      if (!card) continue;
      card.querySelector("progress").value = campaign.done;
      card.querySelector(".ended").textContent = campaign.done;
      card.querySelector(".current").textContent = campaign.title ?? "between runs";
      if (!campaign.running) location.reload();
    }
  }, 5000);
}

drawAll();
if (document.getElementById("cost-form")) import("./cost.js");
if (document.getElementById("trace-form")) import("./trace.js");
if (document.getElementById("plan-form")) import("./plan.js");
