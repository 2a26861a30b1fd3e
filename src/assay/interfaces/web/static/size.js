// Sends the chosen logs with progress, then the form. Each file is one request, because the server limits other requests.
const form = document.getElementById("size-form");
const files = document.getElementById("size-logs");
const status = document.getElementById("size-status");
const bar = document.getElementById("size-progress");

const randomKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const fileName = (name) => name.replace(/[^A-Za-z0-9_.+-]/g, "_").replace(/^\./, "_").slice(-200);

/** Send one file and report the bytes sent; XMLHttpRequest, because fetch does not report them. */
function send(address, file, report) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("PUT", address);
    request.upload.onprogress = (event) => report(event.loaded);
    request.onload = () => (request.status === 201 ? resolve() : reject(new Error(JSON.parse(request.responseText).message)));
    request.onerror = () => reject(new Error("The connection was closed."));
    request.send(file);
  });
}

form.addEventListener("submit", async (event) => {
  if (!files.files.length) return;
  event.preventDefault();
  const chosen = [...files.files];
  const large = chosen.find((file) => file.size > Number(form.dataset.bytesMax));
  if (large) {
    status.textContent = `${large.name} is larger than this server accepts.`;
    return;
  }
  const key = randomKey();
  const total = chosen.reduce((sum, file) => sum + file.size, 0);
  let before = 0;
  Object.assign(bar, { hidden: false, max: total, value: 0 });
  try {
    for (const file of chosen) {
      status.textContent = `Sending ${file.name}`;
      await send(`/api/v1/size/logs/${key}/${encodeURIComponent(fileName(file.name))}`, file, (sent) => { bar.value = before + sent; });
      before += file.size;
    }
  } catch (error) {
    status.textContent = `Not sent: ${error.message}`;
    bar.hidden = true;
    return;
  }
  form.elements.upload.value = key;
  form.submit();
});
