// Every figure of a fit as SVG and, at twice its size, as PNG: the browser draws both.
const STYLED = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "opacity",
  "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline"];

export async function savePng(address, name) {
  const picture = new Image();
  picture.src = address;
  await picture.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [2 * picture.naturalWidth, 2 * picture.naturalHeight];
  const pen = canvas.getContext("2d");
  pen.fillStyle = "#fff";
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(picture, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => save(URL.createObjectURL(blob), `${name}.png`));
}

function save(address, name) {
  const link = document.createElement("a");
  [link.href, link.download] = [address, name];
  link.click();
  if (address.startsWith("blob:")) URL.revokeObjectURL(address);
}

// A drawing that stands in the page has its styles from the page: they go with it.
function alone(drawing) {
  const copy = drawing.cloneNode(true);
  const { width, height } = drawing.getBoundingClientRect();
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", Math.round(width));
  copy.setAttribute("height", Math.round(height));
  const copies = copy.querySelectorAll("*");
  drawing.querySelectorAll("*").forEach((each, i) => {
    const style = getComputedStyle(each);
    for (const name of STYLED) copies[i].setAttribute(name, style.getPropertyValue(name));
    copies[i].removeAttribute("class");
  });
  return `data:image/svg+xml,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
}

document.querySelectorAll("figure.picture, figure.scatter").forEach((figure, i) => {
  const image = figure.querySelector("img");
  const drawing = figure.querySelector("svg");
  if (!image && !drawing) return;
  const name = image ? image.src.split("/").pop().replace(/\.svg.*$/, "") : `figure-${i + 1}`;
  const address = () => (image ? image.src : alone(drawing));
  const links = document.createElement("p");
  links.className = "slides";
  for (const [kind, act] of [["SVG", () => save(address(), `${name}.svg`)], ["PNG", () => savePng(address(), name)]]) {
    const button = document.createElement("button");
    [button.type, button.className, button.textContent] = ["button", "secondary", kind];
    button.addEventListener("click", act);
    links.append(button, " ");
  }
  figure.append(links);
});
