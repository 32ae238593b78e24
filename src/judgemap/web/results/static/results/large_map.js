// The risk map of very many areas: pan, zoom, and choose an area. Links and forms do the rest, as without scripts.
import { LargeMap } from "../studies/tiles.js";

const find = (id) => document.getElementById(id);
const plot = find("plot");
const detail = find("detail");
const view = find("view");
let colours = null;

const large = new LargeMap(plot, find("picture"), (area) => (colours ? colours.colours[colours.classes[area]] : "#dde5dc"));
find("how").hidden = false;
fetch(plot.dataset.colours).then((response) => response.json()).then((found) => {
  colours = found;
  large.showTiles();
});

view.addEventListener("change", (event) => {
  if (event.target === find("k")) view.querySelector("[value=top]").checked = true;
  if (event.target.id !== "q") view.submit();
});

large.onChoice(async (area) => {
  const address = new URL(location.href);
  address.searchParams.set("area", area);
  history.replaceState(null, "", address);
  const response = await fetch(`areas/${area}${address.search}`, { headers: { Accept: "text/html" } });
  if (!response.ok || response.redirected) return location.reload();
  detail.innerHTML = await response.text();
  if (innerWidth < 896) detail.scrollIntoView({ block: "nearest" });
});
