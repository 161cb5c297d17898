// Tokens in two columns, joined by lines as strong as the weights; those of the row that is pointed at stand out.

const HIGH = 22, MOST_LINES = 3000, FAINTEST = 0.03;  // pixels of a token; lines at once; the weakest, of the strongest

function drawLines({ look, matrix, names, rows, axes }) {
  const share = (weight) => (matrix.signed ? Math.abs(weight) : Math.max(0, weight));
  const all = [], most = { value: 0 };
  for (let row = 0; row < matrix.rows; row++) for (let column = 0; column < matrix.columns; column++) {
    const weight = matrix.value(row, column);
    most.value = Math.max(most.value, share(weight));
    if (weight) all.push({ row, column, weight });
  }
  const strong = all.filter(({ weight }) => share(weight) >= FAINTEST * most.value);
  strong.sort((one, other) => share(one.weight) - share(other.weight));
  const high = Math.max(matrix.rows, matrix.columns) * HIGH, middle = (place) => (place + 0.5) * HIGH;
  const between = vector("svg", { viewBox: `0 0 100 ${high}`, height: high, preserveAspectRatio: "none", "aria-hidden": "true" });
  const line = ({ row, column, weight }) => {
    const drawn = vector("line", { x1: 0, y1: middle(row), x2: 100, y2: middle(column), class: matrix.signed ? (weight < 0 ? "below" : "above") : "" });
    drawn.style.setProperty("--share", shareOf(share(weight) / (most.value || 1)));
    return drawn;
  };
  const faint = vector("g"), near = vector("g");
  faint.append(...strong.slice(-MOST_LINES).map(line));
  between.append(faint, near);
  const highlight = (row, column = null) => {
    between.classList.toggle("followed", row !== null || column !== null);
    near.replaceChildren(...all.filter((each) => (column === null ? each.row === row : each.column === column)).map(line));
    queries.querySelectorAll(".here").forEach((each) => each.classList.remove("here"));
    if (column === null) queries.children[row]?.classList.add("here");
    shade([...keys.children], (key) => (column === null && row !== null ? matrix.value(row, key) : 0));
    shade([...queries.children], (query) => (column === null ? 0 : matrix.value(query, column)));
  };
  const shade = (tokens, weight) => tokens.forEach((token, place) => {
    const value = weight(place);
    token.style.setProperty("--share", shareOf(share(value) / (most.value || 1)));
    token.classList.toggle("below", value < 0);
  });
  const queries = made("div", "", { class: "tokens", role: "group", "aria-label": "Tokens that look" }), keys = made("div", "", { class: "tokens keys" });
  queries.append(...rows.map((name, row) => {
    const weights = matrix.row(row).map(share), best = weights.indexOf(largest(weights));
    const token = made("div", "", { "data-row": row, "data-column": best, "aria-label": `${name}: ${number(matrix.value(row, best))} at ${names[best]}` });
    const { percents, probabilities } = axes.queries;
    if (percents) {
      const bar = made("span", "", { class: "probability", title: `probability ${percents[row]}` });
      bar.style.setProperty("--share", shareOf(probabilities[row]));
      token.append(bar, made("small", percents[row]));
    }
    token.append(marked(made("bdi", name), axes.queries, row));
    return token;
  }));
  keys.append(...names.map((name, column) => {
    const token = made("div");
    token.append(marked(made("bdi", name), axes.keys, column));
    token.addEventListener("pointerenter", () => highlight(null, column));
    return token;
  }));
  const drawing = made("div", "", { class: "lines" });
  drawing.append(made("b", axes.queries.name), made("span"), made("b", axes.keys.name), queries, between, keys);
  const left = all.length - Math.min(strong.length, MOST_LINES);
  const colors = matrix.signed ? "Red raised the output, blue lowered it. " : "";
  const follow = (row, pointed) => highlight(pointed ? row : null);
  return { nodes: [drawing], follow, meaning: [`${colors}The strongest line is ${number(most.value)}${left > 0 ? "; weak lines are drawn for the token pointed at" : ""}.`] };
}

DRAWINGS.lines = { view: "lines", draw: drawLines };
