// All looks and heads of a scene as small heat maps on one scale; a click opens one.

const FINEST = 48, SMALLEST = 36, LARGEST = 88, AROUND = 17;  // cells of a small map; its pixels, and those around it

function drawOverview({ scene, open, current, ramps }) {
  const shown = scene.looks.map((look, index) => ({ look, index })).filter(({ look }) => look.shape[1]);
  const most = {};
  for (const { look } of shown) most[look.kind] = Math.max(most[look.kind] ?? 0, Math.abs(look.low), Math.abs(look.high));
  shown.sort((one, other) => (one.look.kind === "attribution") - (other.look.kind === "attribution"));
  const rows = shown.map(({ look, index }) => {
    const row = made("section", "", { class: "look" }), name = made("h4"), maps = made("div", "", { class: "maps" });
    name.append(made("bdi", look.name), ...(look.kind ? [made("small", ` ${look.kind}`)] : []), ...(look.flat?.[0] ? [made("small", " nearly uniform")] : []));
    maps.append(...look.weights.map((_, head) => {
      const button = made("button", "", { type: "button", "aria-label": `${look.name}, head ${head}`, title: `${look.name}, head ${head}` });
      if (current.look === index && current.head === head) button.setAttribute("aria-current", "true");
      button.append(thumb(look, head, most[look.kind] || 1, ramps[look.kind === "attribution" ? "signed" : "plain"]));
      if (look.weights.length > 1) button.append(made("small", head));
      button.addEventListener("click", () => open(index, look.weights.length > 1 ? head : null));
      return button;
    }));
    row.append(name, maps);
    return row;
  });
  const drawing = made("div", "", { class: "overview" });
  const heads = Math.max(...shown.map(({ look }) => look.weights.length)), wide = find("drawing").clientWidth;
  const across = Math.ceil(heads / Math.ceil(heads * (SMALLEST + AROUND) / wide));  // as many in every line
  drawing.style.setProperty("--thumb", `${Math.min(LARGEST, Math.floor(wide / across) - AROUND)}px`);
  drawing.append(...rows);
  return { nodes: [drawing], meaning: ["A row for each look, a map for each head, all of a kind (attention, rollout …) on one scale from 0. Click a map to open it."] };
}

// One small map: the largest weight (of an attribution, the farthest from 0) of each block of cells.
function thumb(look, head, most, colors) {
  const matrix = new Matrix(look, head), pooling = (count) => 2 ** Math.max(0, Math.ceil(Math.log2(count / FINEST)));
  const { levels, rows, columns } = matrix.pool(pooling(matrix.rows), pooling(matrix.columns));
  const canvas = made("canvas", "", { width: columns, height: rows }), image = new ImageData(columns, rows), pixels = new Uint32Array(image.data.buffer);
  const level = (own) => {
    const value = matrix.floor + own / 255 * (matrix.most - matrix.floor);
    return matrix.signed ? 127.5 + value / most * 127.5 : Math.max(0, value) / most * 255;
  };
  levels.forEach((own, cell) => { pixels[cell] = colors[Math.round(matrix.most > matrix.floor || matrix.signed ? level(own) : Math.max(0, matrix.most) / most * 255)]; });
  canvas.getContext("2d").putImageData(image, 0, 0);
  const longer = Math.max(matrix.rows, matrix.columns);
  canvas.style.width = `max(4px, var(--thumb) * ${matrix.columns / longer})`;
  canvas.style.height = `max(4px, var(--thumb) * ${matrix.rows / longer})`;
  return canvas;
}

DRAWINGS.overview = { view: "overview", draw: drawOverview, wide: true, whole: true };
