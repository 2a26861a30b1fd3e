// Sets the chosen theme before anything is drawn, so that no page flashes in the other one.
try {
  const chosen = localStorage.getItem("assay-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // Storage may be forbidden; the system's choice holds then.
}
