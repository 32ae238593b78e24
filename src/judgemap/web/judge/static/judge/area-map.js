// One area among its neighbours, drawn by Leaflet from the scene that the server stored (see studies/display.py).
// A drag or a pinch moves the map; only the bar with the area's name answers.
import { BaseMap } from "./base-map.js";

const UNITS = 1000; // a scene's square, in its own units
const SMALLEST = 0.3; // the share of the map's shorter side that the area keeps when neighbours are brought into view
const ENOUGH = 5; // the nearest neighbours' names, for which the view is widened
const LINE = 16; // the height of a name, in pixels
const ruler = document.createElement("canvas").getContext("2d");

export class AreaMap {
  constructor(section, words) {
    this.section = section;
    this.side = section.dataset.side;
    const place = section.querySelector(".live");
    if (!place) return;
    section.classList.add("alive");
    this.map = L.map(place, {
      zoomSnap: 0.1, zoomDelta: 0.5, zoomControl: false, attributionControl: false, keyboard: false,
      scrollWheelZoom: false, doubleClickZoom: false, boxZoom: false, zoomAnimation: false, fadeAnimation: false,
      trackResize: true, maxBoundsViscosity: 1,
    });
    L.control.zoom({ position: "bottomright", zoomInTitle: words.zoomIn, zoomOutTitle: words.zoomOut }).addTo(this.map);
    if (words.tiles) L.tileLayer(words.tiles, { maxZoom: 19, referrerPolicy: "no-referrer" }).addTo(this.map);
    if (words.ground) {
      this.base = new BaseMap(this.map, JSON.parse(words.ground));
      section.classList.add("grounded");
    }
    this.layers = L.layerGroup().addTo(this.map);
    this.labels = L.layerGroup().addTo(this.map);
    this.map.on("moveend", () => this.label());
    new ResizeObserver(() => this.fit()).observe(place);
    const locator = section.querySelector(".locator");
    locator.addEventListener("click", () => {
      locator.setAttribute("aria-expanded", String(locator.classList.toggle("grown")));
    });
  }

  draw(name, scene) {
    this.section.querySelector(".name").textContent = name;
    const listed = this.section.querySelector(".neighbours");
    if (listed) listed.textContent = neighbours(scene).join(", ");
    if (!this.map || !scene) return;
    this.scene = scene;
    this.layers.clearLayers();
    const rings = (flat) => flat.map((ring) => points(ring).map(([x, y]) => this.place(x, y)));
    for (const other of scene.others) {
      L.polygon(rings(other.rings), { className: "other", interactive: false, stroke: false }).addTo(this.layers);
      const borders = other.rings.flatMap(uncut).map((line) => line.map(([x, y]) => this.place(x, y)));
      L.polyline(borders, { className: "border", interactive: false }).addTo(this.layers);
    }
    this.own = L.polygon(rings(scene.own), { className: "own", interactive: false }).addTo(this.layers);
    this.base?.show(scene);
    this.fit();
    this.locate();
  }

  // Show the whole area, and the nearest neighbours' names as far as the area does not get small.
  fit() {
    if (!this.own) return;
    const { map } = this;
    map.invalidateSize({ pan: false });
    if (!map.getSize().x) return;
    if (!matchMedia("print").matches) this.section.style.setProperty("--drawn", map.getSize().x); // for the print's zoom
    const whole = L.latLngBounds(this.place(0, 0), this.place(UNITS, UNITS));
    map.setMinZoom(0).setMaxBounds(null);
    const own = this.own.getBounds();
    let view = own.pad(0.25);
    const most = map.getBoundsZoom(own) + Math.log2(SMALLEST);
    const middle = own.getCenter();
    const named = this.scene.others.filter((other) => other.name).map((other) => this.place(...other.at));
    named.sort((a, b) => middle.distanceTo(a) - middle.distanceTo(b));
    for (const at of named.slice(0, ENOUGH)) {
      const wider = L.latLngBounds(view.getSouthWest(), view.getNorthEast()).extend(L.latLngBounds(at, at).pad(0.1));
      if (map.getBoundsZoom(wider) >= most) view = wider;
    }
    map.fitBounds(view, { animate: false, padding: [12, 12] });
    map.setMinZoom(Math.min(map.getZoom(), map.getBoundsZoom(whole))).setMaxBounds(whole.pad(0.2));
    this.label();
  }

  // Write each neighbour's name where most of it can be seen, and never over another name.
  label() {
    if (!this.scene) return;
    this.labels.clearLayers();
    const { x: width, y: height } = this.map.getSize();
    const written = this.covered().map(([left, top, right, bottom]) =>
      ({ x: (left + right) / 2, y: (top + bottom) / 2, half: (right - left) / 2, tall: (bottom - top) / 2 }));
    ruler.font = `${this.base ? "700 " : ""}11.6px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif`;
    for (const other of this.scene.others) {
      if (!other.name) continue;
      const half = Math.min(ruler.measureText(other.name).width / 2 + 2, width / 2 - 2);
      const rings = other.rings.map((ring) => points(ring).map(([x, y]) => this.map.latLngToContainerPoint(this.place(x, y))));
      const at = roomiest(rings, [half, LINE, width - half, height - LINE / 2], (x, y) =>
        written.every((each) => Math.abs(each.x - x) > each.half + half || Math.abs(each.y - y) > each.tall + LINE / 2));
      if (!at) continue;
      written.push({ ...at, half, tall: LINE / 2 });
      L.tooltip(this.map.containerPointToLatLng([at.x, at.y]), { permanent: true, direction: "center", className: "place", interactive: false })
        .setContent(Object.assign(document.createElement("bdi"), { textContent: other.name })).addTo(this.labels);
    }
    if (!this.base) return;
    this.base.obstacles = written.map(({ x, y, half, tall }) => [x - half, y - tall, x + half, y + tall]);
    this.base.later();
  }

  // The parts of the map that its buttons, the small map and the credit lie on, in pixels.
  covered() {
    const whole = this.map.getContainer().getBoundingClientRect();
    const lying = this.section.querySelectorAll(".locator, .leaflet-control-zoom, .credit");
    return [...lying].map((each) => each.getBoundingClientRect()).filter((each) => each.width)
      .map((each) => [each.left - whole.left, each.top - whole.top, each.right - whole.left, each.bottom - whole.top]);
  }

  locate() {
    const [west, north, east, south] = this.scene.where;
    const spot = this.section.querySelector(".locator circle");
    spot.setAttribute("cx", (west + east) / 2);
    spot.setAttribute("cy", (north + south) / 2);
    spot.setAttribute("r", Math.max(east - west, south - north, 40) / 2);
  }

  place(x, y) {
    const [west, north, size] = this.scene.box;
    return L.Projection.SphericalMercator.unproject(L.point(west + (x * size) / UNITS, north - (y * size) / UNITS));
  }
}

// The real neighbours, for those who hear the page; scenes of earlier versions know only those in view.
function neighbours(scene) {
  return scene?.near ?? scene?.others.filter((other) => other.name).map((other) => other.name) ?? [];
}

function points(flat) {
  return Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]]);
}

// A ring without the lines along which the scene's square cuts it: drawn, they would look like a coast.
function uncut(flat) {
  const ring = points(flat);
  const lines = [];
  let line = [];
  ring.forEach(([x, y], i) => {
    const [u, v] = ring[(i + 1) % ring.length];
    const cut = (x === u && (x <= 0 || x >= UNITS)) || (y === v && (y <= 0 || y >= UNITS));
    if (!line.length) line.push([x, y]);
    if (cut) {
      if (line.length > 1) lines.push(line);
      line = [];
    } else line.push([u, v]);
  });
  if (line.length > 1) lines.push(line);
  return lines;
}

// The point of a grid over a frame that lies inside the rings, farthest from their lines and the frame's edge.
function roomiest(rings, [left, top, right, bottom], free) {
  const xs = rings.flat().map((each) => each.x);
  const ys = rings.flat().map((each) => each.y);
  const [west, east] = [Math.max(left, Math.min(...xs)), Math.min(right, Math.max(...xs))];
  const [north, south] = [Math.max(top, Math.min(...ys)), Math.min(bottom, Math.max(...ys))];
  let best = null;
  for (let i = 1; i < 12; i += 1) {
    for (let j = 1; j < 12; j += 1) {
      const x = west + ((east - west) * i) / 12;
      const y = north + ((south - north) * j) / 12;
      if (east < west || south < north || !inside(rings, x, y) || !free(x, y)) continue;
      const room = Math.min(...rings.flat().map((each) => Math.hypot(each.x - x, 2 * (each.y - y))), x - left + 20, right - x + 20);
      if (!best || room > best.room) best = { x, y, room };
    }
  }
  return best;
}

function inside(rings, x, y) {
  let odd = false;
  for (const ring of rings) {
    ring.forEach((a, i) => {
      const b = ring[(i + 1) % ring.length];
      if (a.y > y !== b.y > y && x < ((b.x - a.x) * (y - a.y)) / (b.y - a.y) + a.x) odd = !odd;
    });
  }
  return odd;
}
