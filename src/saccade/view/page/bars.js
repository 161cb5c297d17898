// A bar for each place, in their own order.

function drawBars({ look, matrix, names, kind }) {
  const weights = matrix.row(0), sizes = matrix.signed ? weights.map(Math.abs) : weights, most = mostOf(sizes), places = heaviest(sizes, look.most);
  const list = made("div", "", { class: "bars", role: "group", "aria-label": "Weights as bars" });
  list.append(...places.map((place) => {
    const line = piece("div", "", 0, place, sizes[place] / most, weights[place]), bar = made("span", "", { class: "length" });
    if (matrix.signed) bar.classList.add(weights[place] < 0 ? "below" : "above");
    line.append(made("bdi", names[place]), made("b", number(weights[place])), bar);
    return line;
  }));
  return { nodes: [list], meaning: [leftOut(weights, places, kind)] };
}

DRAWINGS.bars = { view: "bars", draw: drawBars };
