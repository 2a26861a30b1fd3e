// Reads a price list into the field for prices: the lines before the table, its header, and the lines of the region.
const file = document.getElementById("price-list");
const status = document.getElementById("price-list-status");
const HEAD_LINES = 7;
const CHARACTERS_MAX = 1_000_000;

file.addEventListener("change", async () => {
  const { form } = file;
  const region = form.elements.prices_region.value.trim();
  if (!file.files.length) return;
  if (!region) {
    status.textContent = "State the region of the price list, then choose the file again.";
    return;
  }
  const lines = (await file.files[0].text()).split("\n");
  const text = lines.filter((line, number) => number < HEAD_LINES || line.includes(region)).join("\n");
  if (text.length > CHARACTERS_MAX) {
    status.textContent = "The region has too many lines. assay prices instances converts the list in a terminal.";
    return;
  }
  form.elements.prices_text.value = text;
  status.textContent = `${file.files[0].name}: ${region} is in the field for prices.`;
});
