// The part of the map that a judge knows: a tap adds an area and those nearest to it, a tap on a chosen one takes it out.
// What the form sends are the ticked boxes, regions among them; the map shows what they cover.
import { filter } from "./filter.js";

const form = document.getElementById("places");
const tap = document.getElementById("tap");
const paths = tap ? [...tap.querySelectorAll("path")] : [];
const points = paths.map((path) => path.dataset.at.split(" ").map(Number));
const covered = new Map();
const boxes = () => [...form.querySelectorAll("input[name=place]")];

// The same areas as Gazetteer.areas_in counts, in the same order.
function areasOf(place) {
  if (!covered.has(place)) {
    const [kind, name] = [place.slice(0, place.indexOf(":")), place.slice(place.indexOf(":") + 1)];
    const away = ([x, y]) => Math.hypot(x - points[name][0], y - points[name][1]);
    const all = paths.map((path, at) => at);
    const found =
      kind === "region"
        ? all.filter((at) => paths[at].dataset.region === name)
        : all.sort((a, b) => away(points[a]) - away(points[b])).slice(0, Number(tap.querySelector("svg").dataset.nearby) + 1);
    covered.set(place, new Set(found));
  }
  return covered.get(place);
}

function show() {
  const places = boxes().filter((box) => box.checked).map((box) => areasOf(box.value));
  paths.forEach((path, at) => path.classList.toggle("known", places.some((areas) => areas.has(at))));
  const count = tap.querySelector("[data-count]");
  const known = paths.filter((path) => path.classList.contains("known")).length;
  count.textContent = count.dataset.count.replace("{known}", known).replace("{all}", paths.length);
}

function pick(at) {
  const place = `around:${at}`;
  const chosen = boxes().filter((box) => box.checked && areasOf(box.value).has(at));
  const there = boxes().find((box) => box.value === place);
  if (chosen.length) {
    for (const box of chosen) box.checked = false;
  } else if (there) {
    there.checked = true;
  } else {
    const item = document.getElementById("around").content.cloneNode(true);
    item.querySelector("input").value = place;
    item.querySelector("bdi").textContent = paths[at].querySelector("title").textContent;
    document.getElementById("picked").append(item);
  }
  show();
}

if (tap) {
  tap.hidden = false;
  tap.addEventListener("click", (event) => {
    const at = paths.indexOf(event.target);
    if (at >= 0) pick(at);
  });
  form.addEventListener("change", show);
  show();
}
// A search keeps what is ticked so far.
document.getElementById("search").addEventListener("submit", (event) => {
  for (const old of event.target.querySelectorAll("input[name=place]")) old.remove();
  for (const box of boxes()) if (box.checked) event.target.append(Object.assign(box.cloneNode(), { hidden: true }));
});
filter();
