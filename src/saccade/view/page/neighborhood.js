// A node among its neighbors: lines as thick as the weights, the node itself in the middle.

const RING = { wide: 760, high: 380, radius: 165 }, LONG_NAME = 36;

function drawNeighborhood({ look, matrix, names, kind }) {
  const weights = matrix.row(0), most = mostOf(weights), x = RING.wide / 2, y = RING.high / 2;
  const others = [...weights.keys()].slice(1).sort((one, other) => weights[other] - weights[one]).slice(0, look.most);
  const drawing = vector("svg", { class: "around", viewBox: `0 0 ${RING.wide} ${RING.high}`, role: "group", "aria-label": "A node among its neighbors" });
  const shaded = (element, place) => {
    element.style.setProperty("--share", shareOf(weights[place] / most));
    return element;
  };
  const node = (place, said, parts) => {
    const group = vector("g", { "data-row": 0, "data-column": place, role: "img", "aria-label": said });
    group.append(...parts);
    return group;
  };
  const own = [vector("circle", { cx: x, cy: y, r: 16 }), vector("text", { x, y: y + 34 }, cutName(names[0]))];
  const lines = [], nodes = [node(0, `${names[0]}, itself ${number(weights[0])}`, [...own, vector("text", { x, y: y + 50 }, `itself ${number(weights[0])}`)])];
  ring(others.length).forEach(([right, down], index) => {
    const place = others[index], said = `${cutName(names[place])} ${number(weights[place])}`, side = Math.sign(right);
    const end = { x: x + RING.radius * right, y: y + RING.radius * down };
    const name = vector("text", { x: end.x + 12 * side, y: end.y + 4, "text-anchor": side > 0 ? "start" : "end" }, said);
    lines.push(shaded(vector("line", { x1: x, y1: y, x2: end.x, y2: end.y }), place));
    nodes.push(node(place, said, [vector("circle", { cx: end.x, cy: end.y, r: 6 }), name]));
  });
  drawing.append(...lines, ...nodes);
  return { nodes: [drawing], meaning: [leftOut(weights, [0, ...others], kind)] };
}

// Places on a circle around 0, clockwise from the top: as many right as left, and names beside them never touch.
function ring(count) {
  const right = Math.ceil(count / 2), left = count - right, across = (y) => Math.sqrt(1 - y * y);
  const down = Array.from({ length: right }, (_, index) => 2 * (index + 0.5) / right - 1);
  const up = Array.from({ length: left }, (_, index) => 1 - 2 * (index + 0.5) / left);
  return [...down.map((y) => [across(y), y]), ...up.map((y) => [-across(y), y])];
}

function cutName(name) {
  const letters = [...name];
  return letters.length > LONG_NAME ? letters.slice(0, LONG_NAME - 1).join("") + "…" : name;
}

DRAWINGS.neighborhood = { view: "neighbors", draw: drawNeighborhood };
