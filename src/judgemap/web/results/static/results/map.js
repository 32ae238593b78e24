// The map's page: layers, hover, choice, order and filter without a reload. Every link and form also works by itself.
import { savePng } from "./pictures.js";

const $ = (id) => document.getElementById(id);
const layers = JSON.parse($("layers").textContent);
const [plot, drawing, detail, tip, table, scroll] = ["plot", "drawing", "detail", "tip", "table", "scroll"].map($);
const view = $("view");
const body = table.tBodies[0];
const areas = [...drawing.querySelectorAll("[data-area]")];
const rows = new Map([...body.rows].map((row) => [Number(row.dataset.row), row]));
const names = areas.map((area) => rows.get(Number(area.dataset.area)).querySelector("a").textContent);
let layer = currentLayer();
let chosen = Number(new URLSearchParams(location.search).get("area") ?? NaN);
let centres = null;

document.documentElement.classList.add("scripted");

// Pan and zoom.
const [, , width, height] = drawing.getAttribute("viewBox").split(" ").map(Number);
const bounds = [[0, 0], [height, width]];
const map = L.map(plot, { crs: L.CRS.Simple, attributionControl: false, minZoom: -4, maxZoom: 5, zoomSnap: 0.1, scrollWheelZoom: false, keyboard: false });
L.svgOverlay(drawing, bounds, { interactive: true }).addTo(map);
new ResizeObserver(() => {
  map.invalidateSize({ pan: false });
  map.fitBounds(bounds, { animate: false });
}).observe(plot);
map.fitBounds(bounds);

// The scale: the longest round distance that fits into 90 pixels, at any zoom.
const scale = $("scale");
function showScale() {
  const pixels = Number(scale.dataset.kilometre) * map.getZoomScale(map.getZoom(), 0);
  const power = 10 ** Math.floor(Math.log10(90 / pixels));
  const length = [5, 2, 1].map((step) => step * power).find((each) => each * pixels <= 90);
  $("bar").style.width = `${length * pixels}px`;
  $("length").textContent = length < 1 ? `${Math.round(1000 * length)} m` : `${length} km`;
}
if (scale) {
  map.on("zoomend", showScale);
  showScale();
}

// Full screen within the page: it works in every browser, and Escape ends it.
const full = $("full");
const enter = full.textContent;
function fill(on) {
  plot.classList.toggle("filling", on);
  full.setAttribute("aria-pressed", on);
  full.textContent = on ? full.dataset.leave : enter;
}
full.hidden = false;
L.DomEvent.disableClickPropagation(full);
full.addEventListener("click", () => fill(!plot.classList.contains("filling")));
document.addEventListener("keydown", (event) => { if (event.key === "Escape") fill(false); });

// The picture for slides as PNG: the browser draws the SVG.
$("png").hidden = false;
$("png").addEventListener("click", (event) => {
  event.preventDefault();
  savePng($("svg").href, layer);
});

// The address holds what is shown, so that people can pass it on.
function remember(changes) {
  const address = new URL(location.href);
  for (const [name, value] of Object.entries(changes)) value === "" ? address.searchParams.delete(name) : address.searchParams.set(name, value);
  history.replaceState(null, "", address);
}

function currentLayer() {
  const name = view.elements.namedItem("layer").value;
  return name === "top" ? `top${$("k").value}` : name;
}

function showLayer() {
  layer = currentLayer();
  const shown = layers[layer];
  areas.forEach((area, i) => {
    area.querySelector("path").setAttribute("fill", shown.colours[shown.classes[i]]);
    area.querySelector("title").textContent = `${names[i]}: ${shown.texts[i]}`;
  });
  document.querySelectorAll("[data-legend]").forEach((each) => { each.hidden = each.dataset.legend !== layer; });
  $("says").textContent = shown.says;
  shown.marks ? $("marks").removeAttribute("display") : $("marks").setAttribute("display", "none");
  const top = `top${$("k").value}`;
  table.querySelector("thead .chance a").firstChild.textContent = `P(top ${$("k").value})`;
  for (const [area, row] of rows) row.querySelector("td.chance").textContent = layers[top].texts[area];
  remember({ layer, k: $("k").value });
  const address = new URL($("svg").href);
  address.searchParams.set("layer", layer);
  $("svg").href = address;
}

view.addEventListener("change", (event) => {
  if (event.target === $("k")) view.querySelector("[value=top]").checked = true;
  if (event.target.id !== "q") showLayer();
});
view.addEventListener("submit", (event) => event.preventDefault());

// The map and the table highlight the same area.
function point(area) {
  body.querySelector(".near")?.classList.remove("near");
  $("near").setAttribute("d", Number.isInteger(area) ? pathOf(area) : "");
  if (Number.isInteger(area)) rows.get(area).classList.add("near");
}

function pathOf(area) {
  return areas[area].querySelector("path").getAttribute("d");
}

function showTip(area, x, y) {
  const name = document.createElement("strong");
  name.textContent = names[area];
  tip.replaceChildren(name, `${layers[layer].label}: ${layers[layer].texts[area]}`);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 4))}px`;
  tip.style.top = `${y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 18}px`;
}

const areaAt = (event) => {
  const found = event.target.closest("[data-area]");
  return found ? Number(found.dataset.area) : null;
};
drawing.addEventListener("pointermove", (event) => {
  const area = areaAt(event);
  point(area);
  if (area === null) tip.hidden = true;
  else showTip(area, event.clientX, event.clientY);
});
drawing.addEventListener("pointerleave", () => { point(null); tip.hidden = true; });
body.addEventListener("pointerover", (event) => point(Number(event.target.closest("tr")?.dataset.row)));
body.addEventListener("pointerleave", () => point(null));
body.addEventListener("focusin", (event) => point(Number(event.target.closest("tr").dataset.row)));
body.addEventListener("focusout", () => point(null));

// Choose an area.
async function choose(area, from) {
  chosen = area;
  body.querySelector(".chosen")?.classList.remove("chosen");
  const row = rows.get(area);
  row.classList.add("chosen");
  $("chosen").setAttribute("d", pathOf(area));
  if (from !== "table") scroll.scrollTo({ top: row.offsetTop - scroll.clientHeight / 2, behavior: calm() });
  rove(area);
  remember({ area });
  try {
    const response = await fetch(`areas/${area}${location.search}`, { headers: { Accept: "text/html" } });
    if (!response.ok || response.redirected) throw new Error(response.status);
    const text = await response.text();
    if (area !== chosen) return;
    detail.innerHTML = text;
    detail.scrollTop = 0;
    if (innerWidth < 896) detail.scrollIntoView({ block: "nearest", behavior: calm() });
  } catch {
    location.reload();
  }
}

function calm() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
}

let pressed = null;
drawing.addEventListener("pointerdown", (event) => { pressed = [event.clientX, event.clientY]; });
drawing.addEventListener("click", (event) => {
  event.preventDefault();
  const dragged = pressed && Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) > 6;
  const area = areaAt(event);
  if (area !== null && !dragged) choose(area, "map");
});
document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-go]");
  if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    choose(Number(link.dataset.go), body.contains(link) ? "table" : "detail");
  } else if (!link && event.target.closest("#table tbody tr")) choose(Number(event.target.closest("tr").dataset.row), "table");
});

// The keyboard: the map is one tab stop, arrows go to the next area in their direction, Enter chooses.
function rove(area) {
  drawing.querySelector("[tabindex='0']")?.setAttribute("tabindex", "-1");
  areas[area].setAttribute("tabindex", "0");
}

function next(from, dx, dy) {
  centres ??= areas.map((area) => { const box = area.getBBox(); return [box.x + box.width / 2, box.y + box.height / 2]; });
  let best = from, least = Infinity;
  centres.forEach(([x, y], i) => {
    const along = (x - centres[from][0]) * dx + (y - centres[from][1]) * dy;
    const aside = Math.abs((x - centres[from][0]) * dy) + Math.abs((y - centres[from][1]) * dx);
    const cost = along + 2 * aside;
    if (along > 1 && cost < least) [best, least] = [i, cost];
  });
  return best;
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
drawing.addEventListener("keydown", (event) => {
  const area = areaAt(event);
  if (area === null) return;
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    choose(area, "map");
  } else if (ARROWS[event.key]) {
    event.preventDefault();
    const to = next(area, ...ARROWS[event.key]);
    rove(to);
    areas[to].focus();
  } else if (event.key === "Escape") tip.hidden = true;
});
drawing.addEventListener("focusin", (event) => {
  const area = areaAt(event);
  if (area === null) return;
  point(area);
  const box = event.target.getBoundingClientRect();
  showTip(area, box.left + box.width / 2, box.top + box.height / 2);
});
drawing.addEventListener("focusout", () => { point(null); tip.hidden = true; });
rove(Number.isInteger(chosen) && areas[chosen] ? chosen : Number(body.rows[0].dataset.row));

// Filter and order.
const places = new Map([...rows].map(([area, row]) => [area, parseInt(row.cells[0].textContent, 10)]));
const grouped = (number) => number.toLocaleString(document.documentElement.lang);
const fold = (text) => text.toLocaleLowerCase();
$("q").addEventListener("input", () => {
  const words = fold($("q").value.trim());
  let shown = 0;
  for (const [area, row] of rows) {
    const meant = fold(names[area]).includes(words) || fold(row.dataset.code).includes(words);
    row.hidden = !meant;
    areas[area].classList.toggle("out", !meant);
    shown += meant;
  }
  $("counted").textContent = $("counted").dataset.counted.replace("{shown}", grouped(shown)).replace("{all}", grouped(rows.size));
  remember({ q: $("q").value.trim() });
});
$("q").addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });

const FALLING = ["risk", "sd", "chance"];
table.tHead.addEventListener("click", (event) => {
  const link = event.target.closest("[data-sort]");
  if (!link) return;
  event.preventDefault();
  const heading = link.closest("th");
  const column = link.dataset.sort;
  const before = heading.getAttribute("aria-sort");
  const falling = before === "none" ? FALLING.includes(column) : before === "ascending";
  const value = {
    place: (area) => places.get(area),
    name: (area) => names[area],
    chance: (area) => layers[`top${$("k").value}`].values[area],
  }[column] ?? ((area) => layers[column].values[area]);
  const compare = column === "name" ? (a, b) => a.localeCompare(b) : (a, b) => a - b;
  const order = [...rows.keys()].sort((a, b) => (falling ? -1 : 1) * compare(value(a), value(b)) || places.get(a) - places.get(b));
  body.append(...order.map((area) => rows.get(area)));
  table.tHead.querySelectorAll("th").forEach((th) => th.setAttribute("aria-sort", "none"));
  heading.setAttribute("aria-sort", falling ? "descending" : "ascending");
  remember({ sort: (falling ? "-" : "") + column });
});
