// What can be pointed at in a drawing (words, images, tiles, bars): by pointer, by focus and with the arrow keys.

// The drawings that this page has, by name: what the reader calls each, and the function that makes it.
const DRAWINGS = {};

class Pieces {
  // `point(cell)` hears what is pointed at, `pin(row)` what is clicked; all pieces stand inside the stage.
  constructor(stage, point, pin) {
    Object.assign(this, { stage, pin, all: [] });
    const heard = (event) => {
      const piece = event.target.closest?.("[data-column]");
      if (piece && stage.contains(piece)) point(this.cell(piece));
    };
    stage.addEventListener("pointerover", heard);
    stage.addEventListener("focusin", heard);
    stage.addEventListener("keydown", (event) => this.walked(event));
    stage.addEventListener("click", (event) => {
      const piece = event.target.closest("[data-column]");
      if (piece) pin(this.cell(piece).row);
    });
  }

  cell(piece) {
    return { row: Number(piece.dataset.row), column: Number(piece.dataset.column) };
  }

  // One of all pieces is in the order of the Tab key; the arrows lead to the others.
  show(nodes) {
    this.stage.replaceChildren(...nodes);
    this.all = [...this.stage.querySelectorAll("[data-column]")];
    this.all.forEach((piece, index) => { piece.tabIndex = index ? -1 : 0; });
  }

  walked(event) {
    const from = this.all.indexOf(document.activeElement);
    if (from < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter") return this.pin(this.cell(this.all[from]).row);
    const back = getComputedStyle(this.all[from]).direction === "rtl" ? 1 : -1;
    const steps = { ArrowLeft: from + back, ArrowRight: from - back, Home: 0, End: this.all.length - 1 };
    let to = this.all[steps[event.key]];
    if (event.key === "ArrowUp" || event.key === "ArrowDown") to = this.beside(this.all[from], event.key === "ArrowDown" ? 1 : -1);
    else if (!(event.key in steps)) return;
    event.preventDefault();
    if (!to) return;
    document.activeElement.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  }

  // The piece nearest above (-1) or below (1).
  beside(from, side) {
    const middle = (box) => ({ x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2 });
    const here = from.getBoundingClientRect(), at = middle(here);
    let best = null, least = Infinity;
    for (const piece of this.all) {
      const there = middle(piece.getBoundingClientRect()), down = (there.y - at.y) * side;
      const far = down * 8 + Math.abs(there.x - at.x);
      if (down > here.height / 2 && far < least) [best, least] = [piece, far];
    }
    return best;
  }
}

// An element of an SVG drawing.
function vector(tag, attributes = {}, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = text;
  return element;
}

// An element that is a piece: `share` (0 to 1) is how strongly its style shows it.
function piece(tag, text, row, column, share, weight) {
  const element = made(tag, text, { "data-row": row, "data-column": column, title: number(weight) });
  element.style.setProperty("--share", shareOf(share));
  return element;
}

// What is known of a place beside its weight: an unknown token is dotted.
function marked(element, axis, place) {
  if (axis.unknown?.includes(place)) {
    element.classList.add("unknown");
    element.title = [element.title, "unknown to the tokenizer"].filter(Boolean).join(", ");
  }
  return element;
}

// A dot and the name of each class, in its color.
function classLegend(palette) {
  const legend = made("span", "", { class: "classes" });
  legend.append(...Object.entries(palette).map(([name, color]) => {
    const entry = made("span", "", { class: "class" }), dot = made("i", "", { "aria-hidden": "true" });
    dot.style.backgroundColor = color;
    entry.append(dot, made("bdi", /^\d+$/.test(name) ? `class ${name}` : name));
    return entry;
  }));
  return legend;
}

const shareOf = (share) => Math.max(0, Math.min(1, share)).toFixed(3);
const largest = (weights) => weights.reduce((one, other) => Math.max(one, other), -Infinity);
const mostOf = (weights) => Math.max(0, largest(weights)) || 1;  // what a full shade is; never 0

// The heaviest places, in their own order, and what must be said about the others.
function heaviest(weights, most) {
  const order = [...weights.keys()].sort((one, other) => weights[other] - weights[one]).slice(0, most);
  return order.sort((one, other) => one - other);
}

function leftOut(weights, places, what) {
  const others = weights.length - places.length;
  return others > 0 ? `${others} more ${what}, none heavier than these, are left out. ` : "";
}
