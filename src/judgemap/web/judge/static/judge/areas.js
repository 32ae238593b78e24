// The map of all areas: a tap on an area ticks it in the list, which is what the form sends. The list can be searched.
import { filter } from "./filter.js";

const list = document.getElementById("list");
const map = document.getElementById("all");
const boxes = new Map([...list.querySelectorAll("input")].map((box) => [box.value, box]));

function show(box) {
  map?.querySelector(`[data-area="${box.value}"]`)?.classList.toggle("ticked", box.checked);
}

map?.addEventListener("click", (event) => {
  const box = boxes.get(event.target.dataset?.area);
  if (!box) return;
  box.checked = !box.checked;
  show(box);
  box.closest("li").scrollIntoView({ block: "nearest" });
});
list.addEventListener("change", (event) => show(event.target));
boxes.forEach(show);
filter();
