// The risk map of very many areas: pan, zoom, and choose an area. Links and forms do the rest, as without a script.
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
  large.layers.forEach((layer) => layer.redraw());
});

view.addEventListener("change", (event) => {
  if (event.target === find("k")) view.querySelector("[value=top]").checked = true;
  if (event.target.id !== "q") view.submit();
});

large.map.on("click", async ({ latlng }) => {
  const found = await large.areaAt(latlng);
  if (!found) {
    if (large.map.getZoom() < 3) large.map.setView(latlng, large.map.getZoom() + 2);
    return;
  }
  large.mark(found.rings);
  const address = new URL(location.href);
  address.searchParams.set("area", found.area);
  history.replaceState(null, "", address);
  const response = await fetch(`areas/${found.area}${address.search}`, { headers: { Accept: "text/html" } });
  if (!response.ok || response.redirected) return location.reload();
  detail.innerHTML = await response.text();
  if (innerWidth < 896) detail.scrollIntoView({ block: "nearest" });
});
