// An image with a grid of places: large, under the weights of the word that is pointed at, and small for every word.

const SMOOTH = 8;  // pixels of a mask for each cell, before the browser enlarges it

// A dark mask that is clear where the weight is, or shines there on a dark image: drawn small, enlarged smoothly, or cell by cell.
function paintMask(mask, weights, look, exact) {
  const [rows, columns] = look.grid, most = look.scale || mostOf(weights), pixels = new ImageData(columns, rows);
  weights.forEach((weight, place) => {
    const share = Math.max(0, Math.min(1, weight / most));
    const shining = look.shine * share, dark = look.cover * (1 - share) * (1 - shining), opacity = dark + shining || 1;
    const color = look.dark.map((own, channel) => Math.round((own * dark + look.light[channel] * shining) / opacity));
    pixels.data.set([...color, Math.round(255 * (dark + shining))], place * 4);
  });
  const cells = made("canvas", "", { width: columns, height: rows }), context = mask.getContext("2d");
  cells.getContext("2d").putImageData(pixels, 0, 0);
  Object.assign(mask, { width: columns * SMOOTH, height: rows * SMOOTH });
  context.imageSmoothingEnabled = !exact;
  context.imageSmoothingQuality = "high";
  context.drawImage(cells, 0, 0, mask.width, mask.height);
}

function drawImageSteps({ look, matrix, names, rows, images, axes }, exact = false) {
  const source = images[look.images[0]], shown = Math.min(matrix.rows, look.most);
  const picture = (alt) => made("img", "", { alt, src: source, class: look.crisp ? "crisp" : "" });
  const masked = (alt) => {
    const frame = made("div", "", { class: "masked" }), mask = made("canvas", "", { "aria-hidden": "true" });
    frame.append(picture(alt), mask);
    return { frame, mask };
  };
  const large = masked("the image, bright where the weights are"), title = made("figcaption"), stage = made("figure", "", { class: "large" });
  const cells = made("div", "", { class: "tiles", role: "group", "aria-label": "Cells of the image" });
  cells.style.gridTemplateColumns = `repeat(${look.grid[1]}, 1fr)`;
  large.frame.append(cells);
  const slider = made("input", "", { type: "range", min: 0, max: matrix.rows - 1, value: 0, "aria-label": "The word whose weights are on the image" });
  slider.addEventListener("input", () => {
    const row = Number(slider.value), weights = matrix.row(row);
    follow(row);
    if (state.pinned === null) point({ row, column: weights.indexOf(largest(weights)) });
  });
  stage.append(title, large.frame, slider);
  const plain = made("figure", "", { class: "step" });
  plain.append(made("figcaption", "image"), picture("the image"));
  const words = made("div", "", { class: "steps", role: "group", "aria-label": "The image for every word" });
  words.append(plain, ...Array.from({ length: shown }, (_, row) => {
    const weights = matrix.row(row), place = weights.indexOf(largest(weights)), small = masked("");
    const step = piece("figure", "", row, place, 1, weights[place]), name = made("figcaption");
    name.append(marked(made("bdi", rows[row]), axes.queries, row));
    if (axes.queries.percents) name.append(" ", made("small", axes.queries.percents[row], { title: "probability" }));
    step.classList.add("step");
    step.setAttribute("aria-label", `${rows[row]}: ${number(weights[place])} at ${names[place]}`);
    paintMask(small.mask, weights, look, exact);
    step.append(name, small.frame);
    return step;
  }));
  let followed = null;
  const follow = (row) => {
    if (row === followed || row >= matrix.rows) return;
    followed = row;
    const weights = matrix.row(row);
    paintMask(large.mask, weights, look, exact);
    slider.value = row;
    title.replaceChildren(made("bdi", rows[row]));
    cells.replaceChildren(...Array.from(weights, (weight, place) => made("span", "", { "data-row": row, "data-column": place, title: number(weight) })));
    words.querySelectorAll(".step[data-row]").forEach((step) => step.classList.toggle("here", Number(step.dataset.row) === row));
  };
  follow(0);
  const whole = made("div", "", { class: "image-steps" });
  whole.append(words, stage);
  const others = matrix.rows - shown, more = others > 0 ? `${others} more words are left out. ` : "";
  const most = look.scale ? "all" : "its image";
  return { nodes: [whole], meaning: [`${more}Brightness: the weight, divided by the largest of ${most}.`], follow };
}

DRAWINGS.image_steps = { view: "image", draw: drawImageSteps, wide: true };
