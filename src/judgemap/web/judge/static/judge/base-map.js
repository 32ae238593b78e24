// Streets, water and names under and over an area, drawn on two canvases from the tiles of the study's own server.
// See geo/basemap/tiles.py for what a tile contains, and why it is drawn 512 to 1024 pixels wide.
import { overlap } from "./area-map.js";

const UNITS = 1024; // along a tile's side
const WORLD = 40075016.685578488; // metres
const WHOLE = 250; // tiles are made for zooms from this many pixels across a scene …
const CLOSE = 1700; // … to this many across its area
const AROUND = 2.8; // the width of a scene, as a multiple of its area's
const REACH = 0.25; // how much is drawn beyond each edge, as a share of the map, so that a drag does not uncover blank space at once
const MOST_KEPT = 240;
const AT_ONCE = 16; // the most tiles that the server sends in one response
const LINE_NAME = 11; // pixels

// The tiles that this page has, or has asked for; both maps of a pair share them, and one request brings all new ones.
class Tiles {
  constructor(address) {
    this.address = address;
    this.kept = new Map();
    this.wanted = [];
    this.watchers = new Set();
    window.addEventListener("online", () => this.tell());
  }

  get(level, column, row) {
    const key = `${level}/${column}/${row}`;
    if (!this.kept.has(key)) {
      this.kept.set(key, null);
      if (this.wanted.push(key) === 1) setTimeout(() => this.ask()); // after both maps have said what they need
    }
    return this.kept.get(key);
  }

  ask() {
    const keys = this.wanted.splice(0).sort();
    while (keys.length) this.fetch(keys.splice(0, AT_ONCE));
  }

  async fetch(keys) {
    try {
      const response = await fetch(this.address + keys.join(), { credentials: "same-origin", priority: "low" });
      if (!response.ok) throw new Error(response.status);
      for (const [key, { names = [], ...paths }] of Object.entries(await response.json())) {
        for (const kind of Object.keys(paths)) paths[kind] = new Path2D(paths[kind]);
        this.kept.set(key, { paths, names });
      }
      for (const key of [...this.kept.keys()].slice(0, -MOST_KEPT)) this.kept.delete(key);
      this.tell();
    } catch {
      for (const key of keys) this.kept.delete(key); // requested again when the map next moves, or the connection is back
    }
  }

  tell() {
    for (const watcher of this.watchers) watcher();
  }
}

let shared = null;

export class BaseMap {
  constructor(view, ground) {
    shared ??= new Tiles(ground.tiles);
    this.view = view;
    this.finest = ground.finest;
    this.style = ground.style;
    [this.beneath, this.above] = [0, 1].map(() => Object.assign(document.createElement("canvas"), { className: "base-map" }));
    view.pane.prepend(this.beneath);
    view.pane.lastChild.before(this.above); // over the areas, under their own names
    shared.watchers.add(() => this.later());
  }

  // Draw the surroundings of a scene, but no names where the page itself has written something.
  draw(scene, taken) {
    Object.assign(this, { scene, taken });
    this.later();
  }

  later() {
    this.asked ??= requestAnimationFrame(() => {
      this.asked = null;
      if (this.scene && this.view.width) this.drawNow();
    });
  }

  level() {
    const size = this.scene.box[2];
    const lowest = Math.floor(Math.log2(((WHOLE / 256) * WORLD) / size)) - 1;
    const highest = Math.floor(Math.log2(((CLOSE / 256) * WORLD) / (size / AROUND))) - 1;
    return Math.max(0, Math.min(Math.max(Math.floor(this.view.level) - 1, lowest), highest, this.finest));
  }

  // The tiles in view and on a rim around it, if they have arrived, each with its place and its scale.
  *inView(rim) {
    const level = this.level();
    for (const { column, row, x, y, side } of this.view.squares(level, rim)) {
      const tile = shared.get(level, column, row);
      if (tile) yield { tile, x, y, scale: side / UNITS };
    }
  }

  drawNow() {
    const { width, height } = this.view;
    const rim = [Math.round(width * REACH), Math.round(height * REACH)];
    const [across, down] = [width + 2 * rim[0], height + 2 * rim[1]];
    const density = window.devicePixelRatio || 1;
    const pens = [this.beneath, this.above].map((canvas) => {
      [canvas.width, canvas.height] = [Math.round(across * density), Math.round(down * density)];
      Object.assign(canvas.style, { left: `${-rim[0]}px`, top: `${-rim[1]}px`, width: `${across}px`, height: `${down}px` });
      return canvas.getContext("2d");
    });
    const tiles = [...this.inView(rim)];
    // A pen's origin is the map's corner; a unit of what is drawn is `scale` pixels on the screen.
    const placed = (pen, x = 0, y = 0, scale = 1) =>
      pen.setTransform(density * scale, 0, 0, density * scale, density * (rim[0] + x), density * (rim[1] + y));
    this.paint(pens[0], tiles, placed);
    placed(pens[1]);
    this.write(pens[1], tiles);
  }

  paint(pen, tiles, placed) {
    const { ground, kinds, growth, middle } = this.style;
    if (tiles.length) {
      pen.fillStyle = ground;
      pen.fillRect(0, 0, pen.canvas.width, pen.canvas.height);
    }
    const wider = growth ** (this.view.level - 1.5 - middle);
    pen.lineJoin = "round";
    for (const [kind, colour, width] of kinds) {
      for (const { tile, x, y, scale } of tiles) {
        const path = tile.paths[kind];
        if (!path) continue;
        placed(pen, x, y, scale);
        pen.fillStyle = colour;
        pen.strokeStyle = colour;
        pen.lineWidth = Math.max(0.6, width * wider) / scale;
        if (width) pen.stroke(path);
        else pen.fill(path, "evenodd");
      }
    }
  }

  // Write names, the most important first, where they cover neither each other nor what the page itself has written.
  write(pen, tiles) {
    const taken = [...this.taken];
    const ranks = Object.keys(this.style.places);
    const names = tiles.flatMap(({ tile, x, y, scale }) => tile.names.map(([kind, u, v, text, angle]) =>
      ({ kind, text, angle, x: x + u * scale, y: y + v * scale, rank: kind === "line" ? ranks.length : ranks.indexOf(kind) })));
    names.sort((a, b) => a.rank - b.rank);
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.lineJoin = "round";
    pen.lineWidth = 3;
    pen.strokeStyle = this.style.ground;
    pen.fillStyle = this.style.names;
    const written = new Set();
    for (const name of names) {
      const size = this.style.places[name.kind] ?? LINE_NAME;
      pen.font = `${name.kind === "line" ? "" : "500 "}${size}px system-ui, sans-serif`;
      const half = pen.measureText(name.text).width / 2;
      const turn = ((name.angle ?? 0) * Math.PI) / 180;
      const [across, down] = [Math.abs(Math.cos(turn)) * half + size / 2, Math.abs(Math.sin(turn)) * half + size / 2 + 2];
      const box = [name.x - across, name.y - down, name.x + across, name.y + down];
      const again = name.kind === "line" && written.has(name.text);
      if (again || this.cut(box) || taken.some((other) => overlap(box, other))) continue;
      written.add(name.text);
      taken.push(box);
      pen.save();
      pen.translate(name.x, name.y);
      pen.rotate(turn);
      pen.strokeText(name.text, 0, 0);
      pen.fillText(name.text, 0, 0);
      pen.restore();
    }
  }

  // Whether part of a box is visible, but not all of it.
  cut(box) {
    const { width, height } = this.view;
    const whole = box[0] >= 0 && box[1] >= 0 && box[2] <= width && box[3] <= height;
    return !whole && overlap(box, [0, 0, width, height]);
  }
}
