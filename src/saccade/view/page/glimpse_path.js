// A path of glimpses over an image: numbered boxes joined by a line, and what each glimpse saw.

const TOLD = 3;  // numbers of steps at the same place, at the most

function drawGlimpsePath({ look, rows, images, colors }) {
  const [height, width] = look.size, source = images[look.images[0]], unit = Math.max(height, width) / 100, air = 4 * unit;
  const picture = () => vector("image", { href: source, x: 0, y: 0, width, height, preserveAspectRatio: "none", class: look.crisp ? "crisp" : "" });
  const color = (step) => {
    const bytes = colors[Math.round(255 * (0.45 + 0.55 * step / Math.max(1, look.places.length - 1)))];
    return `rgb(${bytes & 255} ${(bytes >> 8) & 255} ${(bytes >> 16) & 255})`;
  };
  const range = (start, size) => `${Math.round(start)}–${Math.round(start + size)}`;
  const told = (step) => {
    const [top, left, tall, wide] = look.places[step][0];
    return `step ${step + 1}: rows ${range(top, tall)}, columns ${range(left, wide)}`;
  };
  const middle = ([[top, left, tall, wide]]) => [left + wide / 2, top + tall / 2];
  const frame = ([top, left, tall, wide], attributes) => vector("rect", { x: left, y: top, width: wide, height: tall, fill: "none", ...attributes });
  const joined = (attributes) => vector("polyline", { points: look.places.map(middle).join(" "), fill: "none", "stroke-linejoin": "round", ...attributes });
  const visits = new Map();  // the steps of each place
  look.places.forEach((scales, step) => visits.set(String(middle(scales)), [...(visits.get(String(middle(scales))) || []), step]));
  const steps = look.places.map((scales, step) => {
    const group = vector("g", { "data-row": step, "data-column": 0, role: "img", "aria-label": told(step) }), [x, y] = middle(scales);
    scales.forEach((box, scale) => {
      const thick = (scale ? 0.35 : 0.7) * unit;
      group.append(frame(box, { stroke: "#1b1f2a", "stroke-width": thick + 0.5 * unit }), frame(box, { stroke: color(step), "stroke-width": thick }));
    });
    const here = visits.get(String([x, y]));
    if (here[0] !== step) return group;
    const number = here.slice(0, TOLD).map((each) => each + 1).join(" ") + (here.length > TOLD ? " …" : "");
    const wide = (3.6 + 2 * number.length) * unit, edge = { fill: color(step), stroke: "#1b1f2a", "stroke-width": 0.4 * unit };
    const pill = { x: x - wide / 2, y: y - 2.8 * unit, width: wide, height: 5.6 * unit, rx: 2.8 * unit };
    group.append(here.length > 1 ? vector("rect", { ...pill, ...edge }) : vector("circle", { cx: x, cy: y, r: 2.8 * unit, ...edge }));
    group.append(vector("text", { x, y: y + 1.2 * unit, "font-size": 3.4 * unit }, number));
    return group;
  });
  const drawing = vector("svg", { class: "path", viewBox: `${-air} ${-air} ${width + 2 * air} ${height + 2 * air}`, role: "group", "aria-label": "The image and the path of glimpses" });
  drawing.append(picture(), joined({ stroke: "#1b1f2a", "stroke-width": 1.3 * unit }), joined({ stroke: "#ffffff", "stroke-width": 0.6 * unit }), ...steps);
  const glimpses = made("div", "", { class: "glimpses", role: "group", "aria-label": "What each glimpse saw" });
  glimpses.append(...look.places.map((scales, step) => {
    const glimpse = made("figure", "", { "data-row": step, "data-column": 0, class: "glimpse" }), seen = made("div"), name = made("figcaption");
    const label = [String(step), String(step + 1), '""'].includes(rows[step]) ? "" : rows[step];
    name.append(made("b", step + 1), " ", made("bdi", label));
    seen.append(...scales.map(([top, left, tall, wide]) => {
      const crop = vector("svg", { viewBox: `${left} ${top} ${wide} ${tall}` });
      crop.append(picture());
      return crop;
    }));
    glimpse.append(name, seen);
    return glimpse;
  }));
  const follow = (row) => {
    for (const each of [...steps, ...glimpses.children]) each.classList.toggle("here", Number(each.dataset.row) === row);
  };
  const whole = made("div", "", { class: "glimpse-path" }), scales = look.places[0].length;
  whole.append(drawing, glimpses);
  const meaning = `${look.places.length} glimpses${scales > 1 ? ` of ${scales} scales` : ""}`;
  return { nodes: [whole], meaning: [meaning], follow, tell: (row) => [made("span", told(row))] };
}

DRAWINGS.glimpse_path = { view: "path", draw: drawGlimpsePath, wide: true };
