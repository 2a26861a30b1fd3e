// The plan form: the server counts the runs after every change. The address has the form's state; the server stores none.
const form = document.getElementById("plan-form");
const result = document.getElementById("plan-result");
const pasted = form.elements.cluster_text;
let timer;
let requestNumber = 0;

const pack = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));
const unpack = (text) => new TextDecoder().decode(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)));

// A plan needs layouts, and a cluster file needs a cluster.
function offerFiles() {
  const button = (what) => form.querySelector(`[formaction="/plan/file/${what}"]`);
  button("plan").disabled = form.elements.layouts.value.trim() === "";
  button("cluster").disabled = form.elements.cluster.disabled && pasted.value.trim() === "";
}

async function count() {
  const number = ++requestNumber;
  const data = new URLSearchParams(new FormData(form));
  const answer = await fetch("/plan/preview", { method: "POST", body: data });
  const text = await answer.text();
  if (number !== requestNumber || !answer.ok) return;
  const open = [...result.querySelectorAll("details")].map((part) => part.open);
  result.innerHTML = text; // the server's own page, escaped there; scripts in it would not run
  [...result.querySelectorAll("details")].forEach((part, index) => { part.open = open[index] ?? part.open; });
  const rows = ["workload", "data", "options"]; // parallel lists: empty values keep their positions
  const rowCount = data.getAll("workload").findLastIndex((name) => name !== "") + 1;
  const query = new URLSearchParams([...data].filter(([name, value]) =>
    !rows.includes(name) && name !== "cluster_text" && value !== ""));
  for (const name of rows) for (const value of data.getAll(name).slice(0, rowCount)) query.append(name, value);
  history.replaceState(null, "", `/plan?${query}${pasted.value ? `#cluster=${pack(pasted.value)}` : ""}`);
}

form.addEventListener("submit", (event) => {
  if (event.submitter?.formAction && event.submitter.formMethod === "post") return;
  event.preventDefault();
  count();
});
// Add a row as soon as the last row is in use.
form.addEventListener("change", () => {
  const body = form.querySelector(".rows tbody");
  const last = body.lastElementChild;
  if (last.querySelector("select").value === "") return;
  const row = last.cloneNode(true);
  for (const field of row.querySelectorAll("select, input")) {
    field.value = "";
    field.setAttribute("aria-label", field.getAttribute("aria-label").replace(/\d+$/, String(body.children.length + 1)));
  }
  body.append(row);
});

offerFiles();
form.addEventListener("input", offerFiles);
form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(count, 400); });

if (location.hash.startsWith("#cluster=")) {
  try {
    pasted.value = unpack(location.hash.slice("#cluster=".length));
    pasted.closest("details").open = true;
    count();
  } catch {
    // The link was cut off: use the server's clusters.
  }
}
