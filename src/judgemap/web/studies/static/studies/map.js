// The map's page: pan and zoom the drawing, and pick two areas on it to make them neighbours or separate them. The form
// also works without this script.
const canvas = document.getElementById("canvas");
const drawing = document.getElementById("network");
const form = document.getElementById("edge");
const said = document.getElementById("said");
let first = null;

const map = L.map(canvas, { crs: L.CRS.Simple, attributionControl: false, minZoom: -3, maxZoom: 6, zoomSnap: 0.25, scrollWheelZoom: false });
const bounds = [[0, 0], [1000, 1000]];
L.svgOverlay(drawing, bounds, { interactive: true }).addTo(map);
drawing.removeAttribute("width");
new ResizeObserver(() => {
  map.invalidateSize({ pan: false });
  map.fitBounds(bounds, { animate: false });
}).observe(canvas);
map.fitBounds(bounds);

function draw(lines) {
  for (const path of drawing.querySelectorAll("[data-lines]")) path.setAttribute("d", lines[path.dataset.lines]);
}

function unpick() {
  drawing.querySelectorAll(".picked").forEach((path) => path.classList.remove("picked"));
  first = null;
}

async function change(a, b) {
  form.elements.namedItem("a").value = a;
  form.elements.namedItem("b").value = b;
  try {
    const response = await fetch(window.location.href, { method: "POST", body: new FormData(form), headers: { Accept: "application/json" } });
    if (!(response.headers.get("Content-Type") ?? "").includes("json")) throw new Error("refused");
    const result = await response.json();
    if (result.lines) draw(result.lines);
    said.textContent = result.said;
  } catch {
    said.textContent = form.dataset.lost;
  }
  unpick();
}

drawing.addEventListener("click", (event) => {
  const path = event.target.closest("[data-area]");
  if (!path || !form) return;
  if (first === path.dataset.area) return unpick();
  path.classList.add("picked");
  const name = path.querySelector("title").textContent;
  if (first === null) {
    first = path.dataset.area;
    said.textContent = form.dataset.chosen.replace("{name}", () => name);
  } else change(first, path.dataset.area);
});

if (form) {
  canvas.classList.add("picking");
  document.getElementById("how").textContent = form.dataset.how;
}
