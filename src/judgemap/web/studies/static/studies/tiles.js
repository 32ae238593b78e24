// A large map: one picture of the whole, and tiles with single areas when somebody zooms in. Places are in thousandths
// of the map, x to the right and y down; Leaflet writes them as [y, x].
const SIZE = 500; // pixels across a tile, at the zoom it is made for
const SHARP = 2; // drawn pixels for each of those
const LEVELS = [
  { level: 3, zoom: 2, from: 1, to: 4 },
  { level: 6, zoom: 5, from: 5, to: 8 },
];

export class LargeMap {
  constructor(element, picture, fill) {
    this.fill = fill;
    this.address = element.dataset.tiles.replace(/0\/0\/0$/, "");
    this.loaded = new Map();
    const down = L.extend({}, L.CRS.Simple, { transformation: new L.Transformation(1, 0, 1, 0) });
    this.map = L.map(element, { crs: down, attributionControl: false, minZoom: -3, maxZoom: 8, zoomSnap: 0.5, scrollWheelZoom: false });
    const all = [[0, 0], [1000, 1000]];
    L.imageOverlay(picture, all, { pane: "tilePane", zIndex: 0 }).addTo(this.map); // below the tiles
    this.map.fitBounds(all, { animate: false });
  }

  // Called once the colours have arrived: Leaflet's redraw would load the tiles of every level.
  showTiles() {
    for (const each of LEVELS) this.layer(each).addTo(this.map);
  }

  layer({ level, zoom, from, to }) {
    const grid = new L.GridLayer({ tileSize: SIZE, minZoom: from, maxZoom: to, minNativeZoom: zoom, maxNativeZoom: zoom, bounds: [[0, 0], [1000, 1000]] });
    grid.createTile = ({ x, y }, done) => {
      const canvas = document.createElement("canvas");
      canvas.width = canvas.height = SIZE * SHARP;
      this.load(level, x, y).then((areas) => {
        this.draw(canvas, areas);
        done(null, canvas);
      }, (error) => done(error, canvas));
      return canvas;
    };
    return grid;
  }

  load(level, x, y) {
    const key = `${level}/${x}/${y}`;
    if (!this.loaded.has(key)) {
      const asked = fetch(this.address + key).then((response) => {
        if (!response.ok) throw new Error(response.status);
        return response.json();
      });
      asked.catch(() => this.loaded.delete(key));
      this.loaded.set(key, asked);
    }
    return this.loaded.get(key);
  }

  draw(canvas, areas) {
    const pen = canvas.getContext("2d");
    pen.scale((SIZE * SHARP) / 1000, (SIZE * SHARP) / 1000);
    pen.lineWidth = 1;
    pen.strokeStyle = "#ffffffb0";
    for (const [area, ...rings] of areas) {
      pen.beginPath();
      for (const ring of rings) {
        pen.moveTo(ring[0], ring[1]);
        for (let i = 2; i < ring.length; i += 2) pen.lineTo(ring[i], ring[i + 1]);
        pen.closePath();
      }
      pen.fillStyle = this.fill(area);
      pen.fill("evenodd");
      pen.stroke();
    }
  }

  // The area at a place: its position, and its rings in Leaflet's form. Null between areas, and when zoomed out too
  // far.
  async areaAt({ lat, lng }) {
    const zoom = Math.round(this.map.getZoom());
    const shown = LEVELS.find(({ from, to }) => from <= zoom && zoom <= to);
    if (!shown || lat < 0 || lng < 0 || lat >= 1000 || lng >= 1000) return null;
    const size = 1000 / 2 ** shown.level;
    const [x, y] = [Math.floor(lng / size), Math.floor(lat / size)];
    const inside = [((lng - x * size) * 1000) / size, ((lat - y * size) * 1000) / size];
    const found = (await this.load(shown.level, x, y)).find(([, ...rings]) => contains(rings, ...inside));
    if (!found) return null;
    const [area, ...rings] = found;
    const place = (ring) => Array.from({ length: ring.length / 2 }, (_, i) => [(y + ring[2 * i + 1] / 1000) * size, (x + ring[2 * i] / 1000) * size]);
    return { area, rings: rings.map(place) };
  }

  // Mark the area that is clicked and call act with its position; if areas are too small to click, zoom in.
  onChoice(act) {
    this.map.on("click", async ({ latlng }) => {
      const found = await this.areaAt(latlng);
      if (found) {
        this.marked?.remove();
        this.marked = L.polygon(found.rings, { className: "ring", interactive: false }).addTo(this.map);
        await act(found.area);
      } else if (this.map.getZoom() < 3) this.map.setView(latlng, this.map.getZoom() + 2);
    });
  }
}

function contains(rings, x, y) {
  let inside = false;
  for (const ring of rings) {
    for (let i = 0, j = ring.length - 2; i < ring.length; j = i, i += 2) {
      if (ring[i + 1] > y !== ring[j + 1] > y && x < ((ring[j] - ring[i]) * (y - ring[i + 1])) / (ring[j + 1] - ring[i + 1]) + ring[i]) inside = !inside;
    }
  }
  return inside;
}
