// One area among its neighbours, drawn from the scene that the server stored (see studies/scenes.py).
// A drag or a pinch moves the map. A tap on the area asks whether to choose it.
import { MapView } from "./map-view.js";

const UNITS = 1000; // a scene's square, in its own units
const AROUND = 0.25; // how much is in view on each side of the area, as a share of its size
const SMALLEST = 0.4; // the area shrinks no further than this, relative to filling the map, to bring neighbours into view
const EDGE = 8; // pixels between the area and the edge of the map
const ENOUGH = 5; // how many of the nearest neighbours' names the view is widened for
const CLOSEST = 1700; // pixels across the area, when zoomed in as far as possible
const LINE = 16; // the height of a name, in pixels
const ALONG = [-1, -0.5, 0.5, 1]; // points along a name, in halves of it, that should lie in its area
const ruler = document.createElement("canvas").getContext("2d");

export class AreaMap {
  constructor(section) {
    this.section = section;
    const place = section.querySelector(".live");
    if (!place) return;
    section.classList.add("alive");
    this.view = new MapView(place, () => this.paint(), (at) => this.tap(at));
    this.tapped = section.querySelector(".tapped");
    this.svg = this.view.pane.appendChild(element("svg"));
    this.svg.setAttribute("preserveAspectRatio", "none");
    this.names = this.view.pane.appendChild(document.createElement("div"));
    this.zooms = [...section.querySelectorAll(".zoom button")];
    this.zooms[0].addEventListener("click", () => this.view.zoomIn());
    this.zooms[1].addEventListener("click", () => this.view.zoomOut());
    new ResizeObserver(() => this.fit()).observe(place);
    const locator = section.querySelector(".locator");
    locator.addEventListener("click", () => {
      locator.setAttribute("aria-expanded", String(locator.classList.toggle("grown")));
    });
  }

  // Put a map under the areas: streets, or another server's pictures.
  lay(ground) {
    this.ground = ground;
    if (this.scene) this.paint();
  }

  draw(name, scene) {
    this.section.querySelector(".name").textContent = name;
    const listed = this.section.querySelector(".neighbours");
    if (listed) listed.textContent = neighbours(scene).join(", ");
    if (!this.view || !scene) return;
    this.scene = scene;
    const others = scene.others.map((other) => path("other", other.rings.map(closed)));
    const borders = path("border", bordersOf(scene.others.flatMap((other) => other.rings)));
    this.svg.replaceChildren(...others, borders, path("own", scene.own.map(closed)));
    this.fit();
    this.locate();
  }

  // Show the whole area, and the nearest neighbours' names unless the area would get too small.
  fit() {
    const { view, scene } = this;
    if (!scene || !view.width) return;
    if (!matchMedia("print").matches) this.section.style.setProperty("--drawn", view.width); // for the print's zoom
    const own = boxOf(scene.own.flatMap(points).map((at) => this.metres(at)));
    let seen = padded(own, AROUND);
    const least = SMALLEST * view.scaleOf(own);
    const [x, y] = middleOf(own);
    const named = scene.others.filter((other) => other.name).map((other) => this.metres(other.at));
    named.sort((a, b) => Math.hypot(a[0] - x, a[1] - y) - Math.hypot(b[0] - x, b[1] - y));
    for (const at of named.slice(0, ENOUGH)) {
      const wider = boxOf([seen.slice(0, 2), seen.slice(2), at]);
      if (view.scaleOf(wider) >= least) seen = wider;
    }
    // Where the scene ends, land looks as if it ended too: the map stays within it, even if the area gets larger.
    const filled = Math.min(Math.max(view.width, view.height) / scene.box[2], view.scaleOf(own));
    const scale = Math.max(0.92 * view.scaleOf(seen), filled);
    const whole = boxOf([this.metres([0, 0]), this.metres([UNITS, UNITS])]);
    const closest = CLOSEST / Math.max(own[2] - own[0], own[3] - own[1]);
    const middle = this.clear(own, middleOf(seen), scale);
    view.show({ x: middle[0], y: middle[1], scale }, whole, filled, Math.max(scale, closest));
  }

  // Move the middle of a view so that the whole area is in view, and neither under the credit nor under the small map.
  clear([west, south, east, north], [x, y], scale) {
    const [half, tall] = [this.view.width / 2 / scale, this.view.height / 2 / scale];
    const rim = EDGE / scale;
    const foot = rim + (this.section.querySelector(".credit")?.offsetHeight ?? 0) / scale;
    const at = [
      Math.min(Math.max(x, east + rim - half), west - rim + half),
      Math.min(Math.max(y, north + rim - tall), south - foot + tall),
    ];
    const locator = this.section.querySelector(".locator");
    const under = (locator.offsetLeft + locator.offsetWidth) / scale - (west - at[0] + half);
    const below = (locator.offsetTop + locator.offsetHeight) / scale - (at[1] + tall - north);
    if (under <= 0 || below <= 0) return at;
    const right = under <= at[0] + half - rim - east; // there is room to move that far
    const down = below <= south - (at[1] - tall) - foot;
    if (down && (below <= under || !right)) return [at[0], at[1] + below];
    return right ? [at[0] - under, at[1]] : at;
  }

  tap({ x, y }) {
    const own = this.scene.own.map((ring) => points(ring).map((at) => this.view.pixel(this.metres(at))));
    this.tapped.hidden = !inside(own, x, y);
    if (!this.tapped.hidden) this.tapped.focus({ preventScroll: true });
  }

  // Draw everything where the map came to rest.
  paint() {
    const { view } = this;
    this.tapped.hidden = true;
    const [west, north, size] = this.scene.box;
    const [left, top] = view.under(0, 0);
    const unit = size / UNITS;
    const across = [view.width, view.height].map((each) => each / view.scale / unit);
    this.svg.setAttribute("viewBox", [(left - west) / unit, (north - top) / unit, ...across].join(" "));
    this.zooms[0].setAttribute("aria-disabled", String(view.scale >= view.most));
    this.zooms[1].setAttribute("aria-disabled", String(view.scale <= view.least));
    const taken = this.label();
    this.ground?.draw(this.scene, taken);
  }

  // Write each neighbour's name where most of it lies in the neighbour, but never over another name or the area being
  // judged. Return the boxes that are taken.
  label() {
    const { width, height } = this.view;
    const taken = this.covered();
    ruler.font = `${this.section.closest(".with-ground") ? "700 " : ""}11.6px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif`;
    const pixels = (ring) => points(ring).map((at) => this.view.pixel(this.metres(at)));
    const own = this.scene.own.map(pixels);
    const written = this.scene.others.filter((other) => other.name).map((other) => {
      const half = Math.min(ruler.measureText(other.name).width / 2 + 2, width / 2 - 2);
      const box = (x, y) => [x - half, y - LINE / 2, x + half, y + LINE / 2];
      const at = roomiest(other.rings.map(pixels), half, [half, LINE, width - half, height - LINE / 2], (x, y) =>
        taken.every((each) => !overlap(each, box(x, y))) && letters(box(x, y)).every((at) => !inside(own, ...at)));
      if (!at) return null;
      taken.push(box(at.x, at.y));
      const name = Object.assign(document.createElement("bdi"), { className: "place", textContent: other.name });
      name.style.left = `${at.x}px`;
      name.style.top = `${at.y}px`;
      return name;
    });
    this.names.replaceChildren(...written.filter(Boolean));
    return taken;
  }

  // The boxes of the map under its buttons, the small map and the credit, in pixels.
  covered() {
    const whole = this.view.place.getBoundingClientRect();
    const lying = this.section.querySelectorAll(".locator, .zoom, .credit");
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

  // A point of the scene, in metres of Web Mercator.
  metres([x, y]) {
    const [west, north, size] = this.scene.box;
    return [west + (x * size) / UNITS, north - (y * size) / UNITS];
  }
}

export function overlap(a, b) {
  return a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
}

// The real neighbours, for people who use a screen reader; scenes from earlier versions know only those in view.
function neighbours(scene) {
  return scene?.near ?? scene?.others.filter((other) => other.name).map((other) => other.name) ?? [];
}

function element(name) {
  return document.createElementNS("http://www.w3.org/2000/svg", name);
}

function path(kind, lines) {
  const drawn = element("path");
  drawn.setAttribute("class", kind);
  drawn.setAttribute("d", lines.join(""));
  return drawn;
}

function closed(flat) {
  return `M${flat.join(" ")}z`;
}

function points(flat) {
  return Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]]);
}

function boxOf(places) {
  const [xs, ys] = [0, 1].map((axis) => places.map((at) => at[axis]));
  return [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
}

function padded([west, south, east, north], share) {
  const [x, y] = [share * (east - west), share * (north - south)];
  return [west - x, south - y, east + x, north + y];
}

function middleOf([west, south, east, north]) {
  return [(west + east) / 2, (south + north) / 2];
}

// The lines of rings, each only once, because two dashed lines on top of each other no longer look dashed; and without
// those along which the scene's square cuts a ring, which would look like a coast.
function bordersOf(rings) {
  const drawn = new Set();
  const lines = [];
  for (const ring of rings.map(points)) {
    let open = false;
    ring.forEach(([x, y], i) => {
      const [u, v] = ring[(i + 1) % ring.length];
      const cut = (x === u && (x <= 0 || x >= UNITS)) || (y === v && (y <= 0 || y >= UNITS));
      const again = drawn.has([u, v, x, y].join());
      drawn.add([x, y, u, v].join());
      if (!cut && !again) lines.push(open ? `L${u} ${v}` : `M${x} ${y}L${u} ${v}`);
      open = !cut && !again;
    });
  }
  return lines;
}

// The best place inside rings for a name 2 × half wide: most of it within them, far from their corners and the frame's
// edge.
function roomiest(rings, half, [left, top, right, bottom], free) {
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
      const within = ALONG.filter((part) => inside(rings, x + part * half, y)).length;
      if (best && within < best.within) continue;
      const room = Math.min(...rings.flat().map((each) => Math.hypot(each.x - x, 2 * (each.y - y))), x - left + 20, right - x + 20);
      if (!best || within > best.within || room > best.room) best = { x, y, within, room };
    }
  }
  return best;
}

// Points along the letters in a name's box, to check whether it reaches into another shape.
function letters([left, top, right, bottom]) {
  const middle = (left + right) / 2;
  return [0, ...ALONG].flatMap((part) => [top + 3, bottom - 3].map((y) => [middle + (part * (right - left)) / 2, y]));
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
