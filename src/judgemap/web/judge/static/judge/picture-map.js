// Another server's map pictures under an area, from an address with {z}, {x} and {y}.
const FINEST = 19;

export class PictureMap {
  constructor(view, address) {
    this.view = view;
    this.address = address;
    this.layer = document.createElement("div");
    this.shown = new Map();
    view.pane.prepend(this.layer);
  }

  draw() {
    const level = Math.max(0, Math.min(FINEST, Math.round(this.view.level)));
    const before = this.shown;
    this.shown = new Map();
    for (const { column, row, x, y, side } of this.view.squares(level, [0, 0])) {
      const src = this.source(level, column, row);
      const picture = before.get(src) ?? Object.assign(new Image(), { referrerPolicy: "no-referrer", alt: "", src });
      picture.style.transform = `translate(${x}px, ${y}px)`;
      picture.style.width = `${side}px`;
      this.shown.set(src, picture);
    }
    this.layer.replaceChildren(...this.shown.values());
  }

  source(z, x, y) {
    const named = { z, x, y, s: "abc"[(x + y) % 3], r: window.devicePixelRatio > 1 ? "@2x" : "" };
    return this.address.replace(/{(\w)}/g, (whole, name) => named[name] ?? whole);
  }
}
