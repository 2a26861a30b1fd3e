// Sets the chosen theme before the first paint, so that no page flashes in the other theme.
try {
  const chosen = localStorage.getItem("assay-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // If storage is forbidden, the system's theme applies.
}
