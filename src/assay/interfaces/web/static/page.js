// Used by every page, served or published: switches the theme, copies text, marks tables that continue to the right.
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

// Parts that follow an answer are folded on narrow windows, so that the answer comes first. Without scripts they are open.
for (const part of document.querySelectorAll("details[data-fold]")) {
  part.open = !matchMedia(`(max-width: ${part.dataset.fold})`).matches;
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
