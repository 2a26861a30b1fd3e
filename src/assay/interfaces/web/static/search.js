// A computation runs on the server. This page polls its progress every second, and shows the answer when it has ended.
const section = document.getElementById("searching");
const POLL_MS = 1000;
const ANSWER_MS = 15000; // a request without an answer by then is sent again
const START_MS = performance.now();
const STEADY_MS = 3000; // before that, the rate of a step is not known
const rate = { step: "", since_ms: 0, from: 0 };

/** Return the time left of the step, from its rate since it was first seen; empty while the rate is unknown. */
function timeLeft({ step, done, most }) {
  const now_ms = performance.now();
  if (step !== rate.step) Object.assign(rate, { step, since_ms: now_ms, from: done });
  const took_ms = now_ms - rate.since_ms;
  if (!most || done <= rate.from || done >= most || took_ms < STEADY_MS) return "";
  const left_s = Math.ceil((took_ms / (done - rate.from)) * (most - done) / 1000);
  return `, about ${left_s < 90 ? `${left_s} s` : `${Math.round(left_s / 60)} min`} left`;
}

async function poll() {
  try {
    const progress = await (await fetch(section.dataset.address, { signal: AbortSignal.timeout(ANSWER_MS) })).json();
    if (progress.over !== false) {
      location.reload();
      return;
    }
    document.getElementById("search-step").textContent = progress.step + (progress.most ? `: ${progress.done} of ${progress.most}` : "");
    document.getElementById("search-elapsed").textContent = `${Math.round((performance.now() - START_MS) / 1000)} s so far${timeLeft(progress)}`;
    const bar = document.getElementById("search-progress");
    if (progress.most) Object.assign(bar, { max: progress.most, value: progress.done });
    else bar.removeAttribute("value");
  } catch {
    document.getElementById("search-step").textContent = "The server does not answer. Trying again.";
  }
  setTimeout(poll, POLL_MS);
}

setTimeout(poll, POLL_MS);
