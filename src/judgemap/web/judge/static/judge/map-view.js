// What a map shows, in metres of Web Mercator. People can drag, pinch and zoom it; while it moves, the drawing moves
// along, and it is redrawn when the map comes to rest.
const WORLD = 40075016.685578488; // metres
const STEP = Math.SQRT2; // by which the buttons zoom
const PINCHED = 12; // pixels: with fingers closer than this, their spread cannot be measured
const STILL = 8; // pixels that a finger may move in a tap

export class MapView {
  constructor(place, rest, tap) {
    this.place = place;
    this.pane = place.appendChild(Object.assign(document.createElement("div"), { className: "pane" }));
    this.rest = rest;
    this.tap = tap;
    this.fingers = new Map();
    place.addEventListener("pointerdown", (event) => this.touch(event));
    place.addEventListener("pointermove", (event) => this.fingers.has(event.pointerId) && this.drag(event));
    for (const end of ["pointerup", "pointercancel"]) place.addEventListener(end, (event) => this.lift(event));
    place.addEventListener("wheel", (event) => event.ctrlKey && this.wheel(event), { passive: false });
  }

  get width() { return this.place.clientWidth; }

  get height() { return this.place.clientHeight; }

  // The scale, in pixels per metre, at which a box of west, south, east and north fills the map.
  scaleOf([west, south, east, north]) {
    return Math.min(this.width / (east - west), this.height / (north - south));
  }

  // Show a place at a scale; from then on the map stays within a box, and between two scales.
  show({ x, y, scale }, box, least, most) {
    Object.assign(this, { x, y, scale, box, least, most });
    this.stop();
  }

  pixel([x, y]) {
    return { x: this.width / 2 + (x - this.x) * this.scale, y: this.height / 2 - (y - this.y) * this.scale };
  }

  // The metres that lie under a pixel.
  under(x, y) {
    return [this.x + (x - this.width / 2) / this.scale, this.y - (y - this.height / 2) / this.scale];
  }

  // The zoom level as web maps count it: at 0 the whole world is 256 pixels wide.
  get level() { return Math.log2((WORLD * this.drawn.scale) / 256); }

  // The tiles of a level that touch the map or a rim around it, each with its place and side in pixels.
  *squares(level, [aside, above]) {
    const { x, y, scale } = this.drawn;
    const count = 2 ** level;
    const side = (WORLD * scale) / count;
    const [left, top] = [(WORLD / 2 + x) * scale - this.width / 2, (WORLD / 2 - y) * scale - this.height / 2];
    for (let i = Math.floor((left - aside) / side); i * side < left + this.width + aside; i += 1) {
      for (let row = Math.max(0, Math.floor((top - above) / side)); row < count && row * side < top + this.height + above; row += 1) {
        yield { column: ((i % count) + count) % count, row, x: i * side - left, y: row * side - top, side };
      }
    }
  }

  zoomIn() { this.zoom(STEP, this.width / 2, this.height / 2); }

  zoomOut() { this.zoom(1 / STEP, this.width / 2, this.height / 2); }

  zoom(factor, x, y) {
    if (!this.box) return;
    this.turn({ x, y }, { x, y }, factor);
    this.stop();
  }

  wheel(event) { // with the control key, or as a pinch on a touchpad; otherwise a wheel scrolls the page
    event.preventDefault();
    const { left, top } = this.place.getBoundingClientRect();
    this.zoom(2 ** (-event.deltaY / 200), event.clientX - left, event.clientY - top);
  }

  touch(event) {
    if (event.button || !this.box) return;
    this.place.setPointerCapture(event.pointerId);
    this.fingers.set(event.pointerId, event);
    this.began = this.fingers.size === 1 ? event : null;
  }

  drag(event) {
    if (this.began && Math.hypot(event.clientX - this.began.clientX, event.clientY - this.began.clientY) < STILL) return;
    this.began = null;
    const from = this.grip();
    this.fingers.set(event.pointerId, event);
    const to = this.grip();
    this.turn(from, to, from.spread > PINCHED ? to.spread / from.spread : 1);
    const grown = this.scale / this.drawn.scale;
    const right = (this.width / 2) * (1 - grown) + (this.drawn.x - this.x) * this.scale;
    const down = (this.height / 2) * (1 - grown) - (this.drawn.y - this.y) * this.scale;
    this.pane.style.transform = `translate(${right}px, ${down}px) scale(${grown})`;
  }

  lift(event) {
    if (!this.fingers.delete(event.pointerId) || this.fingers.size) return;
    const { left, top } = this.place.getBoundingClientRect();
    if (!this.began) this.stop();
    else if (event.type === "pointerup") this.tap({ x: event.clientX - left, y: event.clientY - top });
  }

  // The middle of the fingers, and how far they are from it.
  grip() {
    const { left, top } = this.place.getBoundingClientRect();
    const all = [...this.fingers.values()];
    const mean = (value) => all.reduce((sum, each) => sum + value(each), 0) / all.length;
    const [x, y] = [mean((each) => each.clientX), mean((each) => each.clientY)];
    return { x: x - left, y: y - top, spread: mean((each) => Math.hypot(each.clientX - x, each.clientY - y)) };
  }

  // Move what lies at one pixel to another, and scale the map around it.
  turn(from, to, factor) {
    const [x, y] = this.under(from.x, from.y);
    this.scale = Math.min(Math.max(this.scale * factor, this.least), this.most);
    this.x = x - (to.x - this.width / 2) / this.scale;
    this.y = y + (to.y - this.height / 2) / this.scale;
    this.keepInside();
  }

  keepInside() {
    const [west, south, east, north] = this.box;
    this.x = within(this.x, west, east, this.width / 2 / this.scale);
    this.y = within(this.y, south, north, this.height / 2 / this.scale);
  }

  stop() {
    this.keepInside();
    this.drawn = { x: this.x, y: this.y, scale: this.scale };
    this.pane.style.transform = "";
    this.rest();
  }
}

function within(middle, low, high, half) {
  return high - low < 2 * half ? (low + high) / 2 : Math.min(Math.max(middle, low + half), high - half);
}
