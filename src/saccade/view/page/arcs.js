// The words of a text in a row, with arcs over them; those of the word that is pointed at stand out.

const ARC_LETTER = 8, ARC_GAP = 14, ARC_LEAST = 22, ARC_FLAT = 0.55, ARC_TALLEST = 170, ARC_FAINTEST = 0.12, ARC_LOOP = 5;

function drawArcs({ matrix, names, axes }) {
  const share = (weight) => (matrix.signed ? Math.abs(weight) : Math.max(0, weight));
  const sizes = names.map((name) => Math.max(ARC_LEAST, ARC_LETTER * [...name].length)), places = [];
  const wide = sizes.reduce((left, size) => { places.push(left + size / 2); return left + size + ARC_GAP; }, 12);
  const all = [];
  for (let row = 0; row < matrix.rows; row++) for (let column = 0; column < matrix.columns; column++) {
    const weight = matrix.value(row, column);
    if (weight) all.push({ row, column, weight });
  }
  const most = mostOf(all.map(({ weight }) => share(weight)));
  all.sort((one, other) => share(one.weight) - share(other.weight));
  const height = ({ row, column }) => (row === column ? 3 * ARC_LOOP : Math.min(ARC_FLAT * Math.abs(places[row] - places[column]) / 2, ARC_TALLEST));
  const base = Math.max(30, ...all.map(height)) + 8;
  const arc = (each) => {
    const { row, column, weight } = each, aside = row === column ? ARC_LOOP : 0;
    const [start, end] = [places[row] - aside, places[column] + aside];
    const d = `M${start} ${base}A${Math.abs(end - start) / 2} ${height(each)} 0 0 ${Number(start < end)} ${end} ${base}`;
    const drawn = vector("path", { d, class: matrix.signed ? (weight < 0 ? "below" : "above") : "" });
    drawn.style.setProperty("--share", shareOf(share(weight) / most));
    return drawn;
  };
  const drawing = vector("svg", { viewBox: `0 0 ${wide} ${base + 30}`, width: wide, height: base + 30, role: "group", "aria-label": "Words and what they looked at" });
  const faint = vector("g"), near = vector("g"), words = vector("g");
  faint.append(...all.filter(({ weight }) => share(weight) >= ARC_FAINTEST * most).map(arc));
  words.append(...names.map((name, place) => {
    const row = matrix.row(place).map(share), best = row.indexOf(largest(row));
    const label = `${name}: ${number(matrix.value(place, best))} at ${names[best]}`;
    return marked(vector("text", { x: places[place], y: base + 20, "data-row": place, "data-column": best, "aria-label": label }, name), axes.keys, place);
  }));
  drawing.append(faint, near, words);
  const follow = (row, pointed) => {
    drawing.classList.toggle("followed", pointed && row !== null);
    near.replaceChildren(...(pointed ? all.filter((each) => each.row === row) : []).map(arc));
  };
  const nodes = made("div", "", { class: "arcs" });
  nodes.append(drawing);
  return { nodes: [nodes], follow, meaning: [`An arc goes from a word to one that it looked at. The strongest is ${number(most)}.`] };
}

DRAWINGS.arcs = { view: "arcs", draw: drawArcs, wide: true };
