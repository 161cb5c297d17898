// A bar for each thing that was looked at, in their own order, or around a node the heaviest first.

function drawBars({ look, matrix, names, kind }) {
  const weights = matrix.row(0), most = mostOf(weights);
  let places = heaviest(weights, look.most);
  if (look.sorted) {
    const others = [...weights.keys()].slice(1).sort((one, other) => weights[other] - weights[one]);
    places = [0, ...others.slice(0, look.most)];
  }
  const list = made("div", "", { class: "bars", role: "group", "aria-label": "Weights as bars" });
  list.append(...places.map((place) => {
    const line = piece("div", "", 0, place, weights[place] / most, weights[place]), bar = made("span", "", { class: "length" });
    const name = made("bdi", names[place]);
    if (look.sorted && place === 0) name.append(", itself");
    line.append(name, made("b", number(weights[place])), bar);
    return line;
  }));
  return { nodes: [list], meaning: [leftOut(weights, places, kind)] };
}

DRAWINGS.bars = { view: "bars", draw: drawBars };
