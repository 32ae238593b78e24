// The pair's page: a button or a key answers, and the response brings the next pair. Without this script the same form
// works by itself. The server decides what is shown and what counts; this page only asks and draws.
import { AreaMap } from "./area-map.js";

const form = document.getElementById("answer");
const find = (id) => document.getElementById(id);
const field = (name) => form.elements.namedItem(name);
const words = form.dataset;
const KEYS = { ArrowLeft: "left", ArrowRight: "right", ArrowDown: "tie", s: "skipped" };
const SETTLE = 600; // milliseconds within which a second tap counts as part of the first
const FIRST_WAIT = 500;
const LONGEST_WAIT = 15000;

// How long the pair was in view, by the monotonic clock, not counting time when the page was hidden.
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

const maps = [...form.querySelectorAll(".side")].map((section) => new AreaMap(section));
let ready = 0; // when the next answer may be given; Infinity while one is being sent

// Streets or another server's pictures come after the areas, and only if the study has them.
async function layGround() {
  const drawn = maps.filter((map) => map.view);
  if (words.ground) {
    const { BaseMap } = await import("./base-map.js");
    drawn.forEach((map) => map.lay(new BaseMap(map.view, JSON.parse(words.ground))));
  } else if (words.tiles) {
    const { PictureMap } = await import("./picture-map.js");
    drawn.forEach((map) => map.lay(new PictureMap(map.view, words.tiles)));
  }
}

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
  say(state.said);
  find("announce").textContent = `${state.counter}: ${state.left} ${words.or} ${state.right}`;
  form.classList.remove("sending");
  form.querySelectorAll(".chosen, .before").forEach((each) => each.classList.remove("chosen", "before"));
  if (state.before) chosenBy(state.before)?.classList.add("before");
  form.querySelectorAll(".sure").forEach((each) => { each.hidden = true; });
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

// Asks until the server has answered: what is to be sent is kept here meanwhile, and no answer counts twice.
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

// The element that shows an outcome: a side, or the button for a tie, a skip or an unknown area.
function chosenBy(outcome) {
  const button = form.querySelector(`button[value="${outcome}"]`);
  return outcome === "left" || outcome === "right" ? button?.closest(".side") : button;
}

async function choose(outcome) {
  const shown = chosenBy(outcome);
  if (!shown || performance.now() < ready) return;
  ready = Infinity;
  say("");
  form.classList.add("sending");
  shown.classList.add("chosen");
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
  const { value, dataset } = event.submitter ?? {};
  if (value?.startsWith("unknown-") && !("sure" in dataset)) askAgain(event.submitter);
  else if (value) choose(value);
});

// An unknown area is not asked about again, so a slip of the finger must not be enough.
function askAgain(button) {
  if (performance.now() < ready) return;
  const question = button.closest(".side").querySelector(".sure");
  question.querySelector(".name-again").textContent = button.closest(".side").querySelector(".name").textContent;
  question.hidden = false;
  question.querySelector("button").focus();
}
form.querySelectorAll(".sure [type=button]").forEach((each) => each.addEventListener("click", () => {
  const side = each.closest(".side");
  side.querySelector(".sure").hidden = true;
  side.querySelector(".unknown").focus();
}));
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
layGround().catch(() => {}); // without a connection, show only the areas
document.documentElement.classList.add("scripted");
