// A computation runs on the server. This page polls its progress every second, and shows the answer when it has ended.
const section = document.getElementById("searching");
const POLL_MS = 1000;
const START_MS = performance.now();

async function poll() {
  try {
    const progress = await (await fetch(section.dataset.address)).json();
    if (progress.over !== false) {
      location.reload();
      return;
    }
    document.getElementById("search-step").textContent = progress.step + (progress.most ? `: ${progress.done} of ${progress.most}` : "");
    document.getElementById("search-elapsed").textContent = `${Math.round((performance.now() - START_MS) / 1000)} s so far`;
    const bar = document.getElementById("search-progress");
    if (progress.most) Object.assign(bar, { max: progress.most, value: progress.done });
    else bar.removeAttribute("value");
  } catch {
    document.getElementById("search-step").textContent = "The server does not answer. Trying again.";
  }
  setTimeout(poll, POLL_MS);
}

setTimeout(poll, POLL_MS);
