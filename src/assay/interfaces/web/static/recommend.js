// A search runs on the server. This page polls its progress every second, and shows the answer when it has ended.
const place = document.getElementById("searching");
const EACH_MS = 1000;

async function look() {
  try {
    const told = await (await fetch(`/api/v1/recommend/${place.dataset.key}`)).json();
    if (told.over !== false) {
      location.reload();
      return;
    }
    document.getElementById("search-step").textContent = told.step + (told.most ? `: ${told.done} of ${told.most}` : "");
    const bar = document.getElementById("search-progress");
    if (told.most) Object.assign(bar, { max: told.most, value: told.done });
    else bar.removeAttribute("value");
  } catch {
    document.getElementById("search-step").textContent = "the server does not answer; trying again";
  }
  setTimeout(look, EACH_MS);
}

setTimeout(look, EACH_MS);
