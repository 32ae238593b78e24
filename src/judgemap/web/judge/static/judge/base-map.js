// Streets, water and names under and over an area, drawn on two canvases from the tiles of the study's own server.
// What a tile holds, and why it is drawn 512 to 1024 pixels wide, is written in geo/basemap/tiles.py.
const UNITS = 1024; // of a tile's side
const WORLD = 40075016.685578488; // metres
const WHOLE = 250; // pixels across a scene, from the farthest that tiles are made for …
const CLOSE = 1700; // … to this many across its area
const AROUND = 2.8; // the width of a scene, in widths of its area
const REACH = 0.25; // of the map, drawn beyond each of its edges, so that a drag does not uncover blank paper at once
const MOST_KEPT = 240;
const LINE_NAME = 11; // pixels

// The tiles that this page has, or has asked for; both maps of a pair share them.
class Tiles {
  constructor(address) {
    this.address = address;
    this.kept = new Map();
    this.watchers = new Set();
    window.addEventListener("online", () => this.tell());
  }

  get(level, column, row) {
    const key = `${level}/${column}/${row}`;
    if (!this.kept.has(key)) this.fetch(key);
    return this.kept.get(key);
  }

  async fetch(key) {
    this.kept.set(key, null);
    try {
      const response = await fetch(this.address + key, { credentials: "same-origin", priority: "low" });
      if (!response.ok) throw new Error(response.status);
      const content = await response.json();
      const paths = Object.entries(content).filter(([kind]) => kind !== "names").map(([kind, path]) => [kind, new Path2D(path)]);
      this.kept.set(key, { paths: Object.fromEntries(paths), names: content.names ?? [] });
      if (this.kept.size > MOST_KEPT) this.kept.delete(this.kept.keys().next().value);
      this.tell();
    } catch {
      this.kept.delete(key); // asked for again when the map next moves, or the connection is back
    }
  }

  tell() {
    for (const watcher of this.watchers) watcher();
  }
}

let shared = null;

export class BaseMap {
  constructor(map, ground) {
    shared ??= new Tiles(ground.tiles);
    this.map = map;
    this.ground = ground;
    this.style = ground.style;
    this.beneath = this.canvas("tilePane");
    map.createPane("names").style.zIndex = 450; // over the areas, under their own names
    map.getPane("names").style.pointerEvents = "none";
    this.above = this.canvas("names");
    shared.watchers.add(() => this.later());
    map.on("moveend zoom resize viewreset", () => this.later());
  }

  canvas(pane) {
    const canvas = L.DomUtil.create("canvas", "base-map", this.map.getPane(pane));
    canvas.setAttribute("aria-hidden", "true");
    return canvas;
  }

  show(scene) {
    this.scene = scene;
    this.later();
  }

  later() {
    this.asked ??= requestAnimationFrame(() => {
      this.asked = null;
      this.draw();
    });
  }

  level(zoom) {
    const size = this.scene.box[2];
    const lowest = Math.floor(Math.log2(((WHOLE / 256) * WORLD) / size)) - 1;
    const highest = Math.floor(Math.log2(((CLOSE / 256) * WORLD) / (size / AROUND))) - 1;
    const { finest } = this.ground;
    return Math.max(0, Math.min(Math.max(Math.floor(zoom) - 1, lowest), highest, finest));
  }

  // The tiles in view, each with its place on the canvas and its scale.
  *inView(corner, width, height) {
    const zoom = this.map.getZoom();
    const level = this.level(zoom);
    const count = 2 ** level;
    const side = (256 * 2 ** zoom) / count;
    for (let column = Math.floor(corner.x / side); column * side < corner.x + width; column += 1) {
      for (let row = Math.max(0, Math.floor(corner.y / side)); row < count && row * side < corner.y + height; row += 1) {
        const tile = shared.get(level, ((column % count) + count) % count, row);
        if (tile) yield { tile, x: column * side - corner.x, y: row * side - corner.y, scale: side / UNITS };
      }
    }
  }

  draw() {
    if (!this.scene || !this.map.getSize().x) return;
    const size = this.map.getSize();
    const reach = size.multiplyBy(REACH).round();
    const [width, height] = [size.x + 2 * reach.x, size.y + 2 * reach.y];
    const corner = this.map.getPixelBounds().min.subtract(reach);
    const density = window.devicePixelRatio || 1;
    const pens = [this.beneath, this.above].map((canvas) => {
      [canvas.width, canvas.height] = [Math.round(width * density), Math.round(height * density)];
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
      L.DomUtil.setPosition(canvas, this.map.containerPointToLayerPoint([-reach.x, -reach.y]));
      return canvas.getContext("2d");
    });
    const tiles = [...this.inView(corner, width, height)];
    this.paint(pens[0], tiles, density);
    this.write(pens[1], tiles, density, reach);
  }

  paint(pen, tiles, density) {
    const { ground, kinds, growth, middle } = this.style;
    if (tiles.length) {
      pen.fillStyle = ground;
      pen.fillRect(0, 0, pen.canvas.width, pen.canvas.height);
    }
    const wider = growth ** (this.map.getZoom() - 1.5 - middle);
    pen.lineJoin = "round";
    for (const [kind, colour, width] of kinds) {
      for (const { tile, x, y, scale } of tiles) {
        const path = tile.paths[kind];
        if (!path) continue;
        pen.setTransform(density * scale, 0, 0, density * scale, density * x, density * y);
        pen.fillStyle = colour;
        pen.strokeStyle = colour;
        pen.lineWidth = Math.max(0.6, width * wider) / scale;
        if (width) pen.stroke(path);
        else pen.fill(path, "evenodd");
      }
    }
  }

  // Names, the most important first, where they cover neither each other nor what the page itself has written.
  write(pen, tiles, density, reach) {
    const ranks = Object.keys(this.style.places);
    const taken = this.taken().map(([left, top, right, bottom]) => [left + reach.x, top + reach.y, right + reach.x, bottom + reach.y]);
    const names = tiles.flatMap(({ tile, x, y, scale }) => tile.names.map(([kind, u, v, text, angle]) =>
      ({ kind, text, angle, x: x + u * scale, y: y + v * scale, rank: kind === "line" ? ranks.length : ranks.indexOf(kind) })));
    names.sort((a, b) => a.rank - b.rank);
    pen.setTransform(density, 0, 0, density, 0, 0);
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
      if (again || taken.some((other) => overlap(box, other))) continue;
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

  // What names must not cover, in pixels of the map: set by whoever writes other names on it.
  taken() {
    return this.obstacles ?? [];
  }
}

function overlap(a, b) {
  return a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
}
