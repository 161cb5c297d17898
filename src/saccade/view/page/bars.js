// A bar for each place, in their own order.

function drawBars({ look, matrix, names, kind }) {
  const weights = matrix.row(0), most = mostOf(weights), places = heaviest(weights, look.most);
  const list = made("div", "", { class: "bars", role: "group", "aria-label": "Weights as bars" });
  list.append(...places.map((place) => {
    const line = piece("div", "", 0, place, weights[place] / most, weights[place]), bar = made("span", "", { class: "length" });
    line.append(made("bdi", names[place]), made("b", number(weights[place])), bar);
    return line;
  }));
  return { nodes: [list], meaning: [leftOut(weights, places, kind)] };
}

DRAWINGS.bars = { view: "bars", draw: drawBars };
