// The page of a large map: zoom in, choose an area to see its neighbours, and choose two to make them neighbours or
// separate them.
import { LargeMap } from "./tiles.js";

const canvas = document.getElementById("canvas");
const form = document.getElementById("edge");
const said = document.getElementById("said");
const SHADES = ["#c9d6c5", "#d9d3bd", "#c3d3dc", "#dcc9cf", "#d3dcc3"];

const large = new LargeMap(canvas, document.getElementById("picture"), (area) => SHADES[area % SHADES.length]);
large.showTiles();
said.textContent = canvas.dataset.zoom;
large.onChoice(async (area) => {
  const response = await fetch(canvas.dataset.areas.replace(/0$/, area));
  if (!response.ok) return;
  const { name, id, neighbours } = await response.json();
  const words = { name, neighbours: neighbours.join(", ") };
  said.textContent = canvas.dataset[neighbours.length ? "near" : "alone"].replace(/\{(name|neighbours)\}/g, (_, key) => words[key]);
  if (!form) return;
  const [a, b] = ["a", "b"].map((field) => form.elements.namedItem(field));
  if (a.value && !b.value) b.value = id;
  else [a.value, b.value] = [id, ""];
});
