// Sends an extract in parts, each short enough for any proxy, and shows the progress; a part that gets lost is sent
// again.
const form = document.getElementById("extract");
const TRIES = 5;

function say(text) {
  form.querySelector(".said").textContent = text;
}

async function sendPart(fields) {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) body.append(name, value);
  const response = await fetch(form.action, { method: "POST", body, headers: { Accept: "application/json" } });
  if (!(response.headers.get("Content-Type") ?? "").includes("json")) throw new Error(response.status);
  return response.json();
}

async function patiently(fields) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await sendPart(fields);
    } catch (error) {
      if (attempt === TRIES) throw error;
      await new Promise((resume) => { setTimeout(resume, 1000 * attempt); });
    }
  }
}

async function send(file) {
  const size = Number(form.dataset.part);
  const common = { csrfmiddlewaretoken: form.elements.csrfmiddlewaretoken.value, name: file.name, size: file.size, credit: form.elements.credit.value };
  const bar = form.querySelector("progress");
  bar.hidden = false;
  let extract = "";
  for (let number = 0; number * size < file.size; number += 1) {
    const content = file.slice(number * size, (number + 1) * size);
    const answer = await patiently({ ...common, number, extract, content });
    if (answer.said) throw new Error(answer.said);
    if (answer.go) {
      window.location.assign(answer.go);
      return window.location.reload();
    }
    extract = answer.extract;
    bar.value = ((number + 1) * size) / file.size;
    say(form.dataset.progress.replace("{share}", Math.round(100 * bar.value)));
  }
}

form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const [file] = form.elements.content.files;
  const button = form.querySelector("button");
  if (file.size > Number(form.dataset.largest)) return say(form.dataset.large.replace("{size}", Math.round(file.size / 1e6)));
  button.disabled = true;
  try {
    await send(file);
  } catch (error) {
    say(/\s/.test(error.message) ? error.message : form.dataset.failed);
    button.disabled = false;
  }
});
