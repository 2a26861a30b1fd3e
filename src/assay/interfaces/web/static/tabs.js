// Tabs of the run page (ARIA pattern "Tabs with automatic activation"). Without this script all parts are visible.
const box = document.getElementById("run-tabs");
const panels = [...box.querySelectorAll(":scope > .tab")];
const list = Object.assign(document.createElement("div"), { className: "tablist" });
list.setAttribute("role", "tablist");
list.setAttribute("aria-label", "Details of the run");

const tabs = panels.map((panel) => {
  const tab = Object.assign(document.createElement("button"), {
    type: "button", id: `tab-${panel.id}`, textContent: panel.dataset.title,
  });
  tab.setAttribute("role", "tab");
  tab.setAttribute("aria-controls", panel.id);
  tab.addEventListener("click", () => choose(panel, true));
  // The browser's search on the page opens the panel that has the text.
  panel.addEventListener("beforematch", () => choose(panel, true));
  return tab;
});

function choose(chosen, keep) {
  panels.forEach((panel, index) => {
    // A hidden panel keeps its width, so that its charts are drawn at full width. It takes no focus and has no role.
    const state = panel === chosen
      ? { role: "tabpanel", tabindex: "0", "aria-labelledby": tabs[index].id, hidden: null }
      : { role: null, tabindex: null, "aria-labelledby": null, hidden: "until-found" };
    for (const [name, value] of Object.entries(state)) {
      if (value === null) panel.removeAttribute(name);
      else panel.setAttribute(name, value);
    }
    tabs[index].setAttribute("aria-selected", String(panel === chosen));
    tabs[index].tabIndex = panel === chosen ? 0 : -1;
  });
  if (keep) history.replaceState(null, "", `${location.search}#${chosen.id}`);
}

list.addEventListener("keydown", (event) => {
  const index = tabs.indexOf(document.activeElement);
  const next = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (index < 0 || next === undefined) return;
  event.preventDefault();
  const number = (next + tabs.length) % tabs.length;
  tabs[number].focus();
  choose(panels[number], true);
});

/** Open the panel that the address names, or that contains the named element. */
function follow() {
  const named = location.hash ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
  const panel = panels.find((candidate) => named && candidate.contains(named));
  if (panel) choose(panel, false);
  if (panel) panel.scrollIntoView();
}

list.append(...tabs);
box.prepend(list);
choose(panels[0], false);
follow();
addEventListener("hashchange", follow);
