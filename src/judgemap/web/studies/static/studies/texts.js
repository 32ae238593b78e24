// The page of texts: each text in Markdown is shown as judges will see it, shortly after the last keystroke.
const form = document.querySelector("[data-preview]");
const token = form.querySelector("[name=csrfmiddlewaretoken]").value;
const PATIENCE = 400; // milliseconds

async function show(area, place) {
  const body = new URLSearchParams({ text: area.value, csrfmiddlewaretoken: token });
  const response = await fetch(form.dataset.preview, { method: "POST", body });
  if (!response.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  place.replaceChildren(...page.body.childNodes);
}

for (const area of form.querySelectorAll("[data-markdown]")) {
  const place = document.createElement("div");
  place.className = "rendered";
  area.after(place);
  let waiting;
  area.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => show(area, place), PATIENCE);
  });
  if (area.value.trim()) show(area, place);
}
