// The live page updates every few seconds while somebody can see it. Details that were opened stay open.
const EVERY = 4000;
const pulse = document.getElementById("pulse");
let opened = [];

function look() {
  if (!document.hidden) window.htmx.trigger("#now", "look");
}

document.body.addEventListener("htmx:beforeSwap", () => {
  opened = [...document.querySelectorAll("#now details[open]")].map((each) => each.id);
});
document.body.addEventListener("htmx:afterSwap", () => {
  for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
});
document.body.addEventListener("htmx:afterRequest", (event) => {
  const time = new Date().toISOString().slice(11, 19);
  pulse.textContent = event.detail.successful
    ? pulse.dataset.live.replace("{time}", time)
    : pulse.dataset.silent;
});
document.addEventListener("visibilitychange", look);
window.addEventListener("load", look);
window.setInterval(look, EVERY);
