// A node among its neighbors: lines as thick as the weights, the node itself in the middle.

const NARROW = 520, ROW = 22;  // pixels: below, neighbors stand in a list beside the node; a line of it

function drawNeighborhood({ look, matrix, names, kind, scene, axes }) {
  const weights = matrix.row(0), most = mostOf(weights), wide = Math.min(760, Math.max(320, find("drawing").clientWidth)), listed = wide < NARROW;
  const others = [...weights.keys()].slice(1).sort((one, other) => weights[other] - weights[one]).slice(0, look.most);
  const radius = Math.min(165, wide / 2 - 150), high = listed ? (others.length + 3) * ROW : 2 * radius + 50, x = listed ? 24 : wide / 2, y = high / 2;
  const room = Math.floor((listed ? wide - 112 : wide / 2 - radius - 14) / 6.2) - 7;
  const drawing = vector("svg", { class: `around${listed ? " listed" : ""}`, viewBox: `0 0 ${wide} ${high}`, width: wide, role: "group", "aria-label": "A node among its neighbors" });
  const shaded = (element, place) => {
    element.style.setProperty("--share", shareOf(weights[place] / most));
    return element;
  };
  const node = (place, said, parts) => {
    const group = vector("g", { "data-row": 0, "data-column": place, role: "img", "aria-label": said });
    if (axes.keys.classes) parts[0].style.fill = scene.palette[axes.keys.classes[place]];
    group.append(...parts);
    return group;
  };
  const itself = `itself ${number(weights[0])}`, under = listed ? { x: 0, y: 14, "text-anchor": "start" } : { x, y: y + 34 };
  const own = [vector("circle", { cx: x, cy: y, r: 16 }), vector("text", under, cutName(names[0], 36)), vector("text", { ...under, y: under.y + 16 }, itself)];
  const lines = [], nodes = [node(0, `${names[0]}, ${itself}`, own)];
  (listed ? others.map(() => [1, 0]) : ring(others.length)).forEach(([right, down], index) => {
    const place = others[index], said = `${cutName(names[place], room)} ${number(weights[place])}`, side = Math.sign(right);
    const end = listed ? { x: 100, y: (index + 2.5) * ROW } : { x: x + radius * right, y: y + radius * down };
    const name = vector("text", { x: end.x + 12 * side, y: end.y + 4, "text-anchor": side > 0 ? "start" : "end" }, said);
    lines.push(shaded(vector("line", { x1: x, y1: y, x2: end.x, y2: end.y }), place));
    nodes.push(node(place, said, [vector("circle", { cx: end.x, cy: end.y, r: 6 }), name]));
  });
  drawing.append(...lines, ...nodes);
  return { nodes: [drawing], meaning: [leftOut(weights, [0, ...others], kind), scene.palette ? classLegend(scene.palette) : ""] };
}

// Places on a circle around 0, clockwise from the top: as many right as left, and names beside them never touch.
function ring(count) {
  const right = Math.ceil(count / 2), left = count - right, across = (y) => Math.sqrt(1 - y * y);
  const down = Array.from({ length: right }, (_, index) => 2 * (index + 0.5) / right - 1);
  const up = Array.from({ length: left }, (_, index) => 1 - 2 * (index + 0.5) / left);
  return [...down.map((y) => [across(y), y]), ...up.map((y) => [-across(y), y])];
}

function cutName(name, room) {
  const letters = [...name];
  return letters.length > room ? letters.slice(0, room - 1).join("") + "…" : name;
}

DRAWINGS.neighborhood = { view: "neighbors", draw: drawNeighborhood };
