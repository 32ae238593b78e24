// The pair's page: one tap or key answers, and the response brings the next pair. Without this script the same form
// works by itself. What is shown and what counts is decided by the server; this page only asks and draws.
const form = document.getElementById("answer");
const find = (id) => document.getElementById(id);
const field = (name) => form.elements.namedItem(name);
const words = form.dataset;
const KEYS = { ArrowLeft: "left", ArrowRight: "right", ArrowDown: "tie", s: "skipped" };
const SETTLE = 250; // milliseconds in which a second click is taken to belong to the first
const FIRST_WAIT = 500;
const LONGEST_WAIT = 15000;

// How long the pair was in view, by the monotonic clock, without the time that the page was hidden.
const clock = {
  seen: 0,
  since: null,
  start() {
    this.seen = 0;
    this.since = document.hidden ? null : performance.now();
  },
  turn() {
    if (document.hidden && this.since !== null) {
      this.seen += performance.now() - this.since;
      this.since = null;
    } else if (!document.hidden && this.since === null) this.since = performance.now();
  },
  read() {
    return Math.round(this.seen + (this.since === null ? 0 : performance.now() - this.since));
  },
};

class AreaMap {
  constructor(section) {
    this.section = section;
    this.side = section.dataset.side;
    const place = section.querySelector(".live");
    if (!place) return;
    section.classList.add("alive");
    this.map = L.map(place, {
      zoomSnap: 0.1, zoomDelta: 0.5, zoomControl: false, attributionControl: Boolean(words.tiles), keyboard: false,
      scrollWheelZoom: false, doubleClickZoom: false, boxZoom: false, dragging: !L.Browser.mobile,
      zoomAnimation: false, fadeAnimation: false, trackResize: true, maxBoundsViscosity: 1,
    });
    L.control.zoom({ position: "bottomright", zoomInTitle: words.zoomIn, zoomOutTitle: words.zoomOut }).addTo(this.map);
    if (words.tiles) {
      this.map.attributionControl.setPrefix(false);
      const credit = Object.assign(document.createElement("span"), { textContent: words.credit }).innerHTML; // plain text
      L.tileLayer(words.tiles, { attribution: credit, maxZoom: 19, referrerPolicy: "no-referrer" }).addTo(this.map);
    }
    this.layers = L.layerGroup().addTo(this.map);
    this.map.on("click", () => choose(this.side));
    new ResizeObserver(() => this.fit()).observe(place);
  }

  draw(name, scene) {
    this.section.querySelector(".name").textContent = name;
    const around = scene?.others.filter((other) => other.name).map((other) => other.name) ?? [];
    const listed = this.section.querySelector(".neighbours");
    if (listed) listed.textContent = around.join(", ");
    if (!this.map || !scene) return;
    this.scene = scene;
    this.layers.clearLayers();
    const rings = (flat) => flat.map((ring) => this.ring(ring));
    for (const other of scene.others) L.polygon(rings(other.rings), { className: "other", interactive: false }).addTo(this.layers);
    this.own = L.polygon(rings(scene.own), { className: "own", interactive: false }).addTo(this.layers);
    for (const other of scene.others) {
      if (!other.name) continue;
      L.tooltip(this.place(...other.at), { permanent: true, direction: "center", className: "place", interactive: false })
        .setContent(Object.assign(document.createElement("bdi"), { textContent: other.name })).addTo(this.layers);
    }
    this.fit();
    const [west, north, east, south] = scene.where;
    const spot = this.section.querySelector(".locator circle");
    spot.setAttribute("cx", (west + east) / 2);
    spot.setAttribute("cy", (north + south) / 2);
    spot.setAttribute("r", Math.max(east - west, south - north, 40) / 2);
  }

  fit() {
    if (!this.own) return;
    const whole = L.latLngBounds(this.place(0, 0), this.place(1000, 1000));
    this.map.invalidateSize({ pan: false });
    this.map.setMinZoom(0).setMaxBounds(null).fitBounds(this.own.getBounds().pad(0.25), { animate: false });
    this.map.setMinZoom(Math.min(this.map.getZoom(), this.map.getBoundsZoom(whole))).setMaxBounds(whole.pad(0.2));
  }

  place(x, y) {
    const [west, north, size] = this.scene.box;
    return L.Projection.SphericalMercator.unproject(L.point(west + (x * size) / 1000, north - (y * size) / 1000));
  }

  ring(flat) {
    return Array.from({ length: flat.length / 2 }, (_, i) => this.place(flat[2 * i], flat[2 * i + 1]));
  }
}

const maps = [...form.querySelectorAll(".side")].map((section) => new AreaMap(section));
let ready = 0; // when the next answer may be given; Infinity while one is being sent

function show(state) {
  field("pair").value = state.pair;
  field("follows").value = state.follows;
  if (field("reason")) field("reason").value = "";
  find("counter").textContent = state.counter;
  find("progress").value = state.progress;
  find("undo").hidden = !state.undo;
  find("keep").hidden = !state.follows;
  if (find("practice")) find("practice").hidden = !state.practice;
  maps[0].draw(state.left, state.scenes[0]);
  maps[1].draw(state.right, state.scenes[1]);
  find("announce").textContent = `${state.counter}: ${state.left} ${words.or} ${state.right}`;
  form.classList.remove("sending");
  form.querySelectorAll(".chosen").forEach((each) => each.classList.remove("chosen"));
  clock.start();
  ready = performance.now() + SETTLE;
}

function say(text) {
  find("said").textContent = text;
}

async function ask(address, options = {}) {
  const response = await fetch(address, { ...options, headers: { Accept: "application/json" }, credentials: "same-origin" });
  const kind = response.headers.get("Content-Type") ?? "";
  if (response.status >= 500) throw new Error(words.busy);
  return kind.includes("application/json") ? response.json() : { place: "elsewhere" };
}

// Asks until the server has answered: what is to be sent is kept here meanwhile, and no answer is given twice.
async function patiently(address, options) {
  for (let wait = FIRST_WAIT; ; wait = Math.min(2 * wait, LONGEST_WAIT)) {
    try {
      return await ask(address, options);
    } catch (error) {
      say(error.message === words.busy ? words.busy : words.lost);
      await new Promise((resume) => {
        setTimeout(resume, wait);
        window.addEventListener("online", resume, { once: true });
      });
    }
  }
}

async function fetchPair(address) {
  const state = await patiently(address);
  if (state.place === "pair") show(state);
  else window.location.assign(words.home);
}

async function choose(outcome) {
  const button = form.querySelector(`button[value="${outcome}"]:not(.still)`);
  if (!button || performance.now() < ready) return;
  ready = Infinity;
  say("");
  form.classList.add("sending");
  (button.closest(".side") ?? button).classList.add("chosen");
  field("seen_ms").value = clock.read();
  const body = new URLSearchParams(new FormData(form));
  body.set("outcome", outcome);
  const state = await patiently(form.action, { method: "POST", body });
  say(state.said ?? "");
  if (state.place === "pair") show(state);
  else if (state.place === "elsewhere") window.location.assign(words.home);
  else if (["not shown", "answered", "not last"].includes(state.why)) await fetchPair(words.home);
  else if (["no ties", "no skips", "too fast", "no answer"].includes(state.why)) stay();
  else window.location.assign(words.home);
}

function stay() {
  form.classList.remove("sending");
  form.querySelectorAll(".chosen").forEach((each) => each.classList.remove("chosen"));
  ready = performance.now() + SETTLE;
}

field("reason")?.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (event.submitter?.value) choose(event.submitter.value);
});
document.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.altKey || event.metaKey || event.target.matches("input, select, textarea")) return;
  const outcome = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (outcome && form.querySelector(`button[value="${outcome}"]`)) {
    event.preventDefault();
    choose(outcome);
  } else if (event.key.toLowerCase() === "u" && !find("undo").hidden) find("undo").click();
});
find("undo").addEventListener("click", (event) => {
  event.preventDefault();
  if (performance.now() >= ready) fetchPair(words.last);
});
find("keep").addEventListener("click", (event) => {
  event.preventDefault();
  fetchPair(words.home);
});
document.addEventListener("visibilitychange", () => clock.turn());
window.addEventListener("pageshow", (event) => {
  if (event.persisted) fetchPair(words.home);
});
show(JSON.parse(words.pair));
ready = 0;
document.documentElement.classList.add("scripted");
