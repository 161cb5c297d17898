// A picture whose cells look at each other: point at a cell at the left, and at the right the picture has its weights.

function drawPlaceMap({ look, matrix, names, images, colors }) {
  const [, columns] = look.grid, source = images[look.images[0]], [least, most] = look.cover;
  const cover = (share) => least + (most - least) * (matrix.signed ? Math.abs(2 * share - 1) : share);
  const grid = (label) => {
    const tiles = made("div", "", { class: "tiles", role: "group", "aria-label": label });
    tiles.style.gridTemplateColumns = `repeat(${columns}, 1fr)`;
    return tiles;
  };
  const choices = grid("Places to look from"), seen = grid("Where the chosen place looked");
  choices.append(...names.map((name, place) => {
    const tile = piece("span", "", place, place, 0, matrix.row(place)[place]);
    tile.setAttribute("role", "button");
    tile.setAttribute("aria-label", `from ${name}`);
    return tile;
  }));
  const figure = (alt, tiles) => {
    const whole = made("figure");
    whole.append(made("img", "", { alt, src: source, class: look.crisp ? "crisp" : "" }), tiles);
    return whole;
  };
  const low = made("span"), high = made("span"), place = made("span"), strip = made("canvas", "", { class: "ramp", width: 96, height: 10, "aria-hidden": "true" });
  let followed = null;
  const follow = (row) => {
    if (row === followed) return;
    const weights = matrix.row(row), floor = Math.min(0, ...weights), top = Math.max(0, ...weights);
    if (followed === null) seen.replaceChildren(...names.map(() => made("span", "", { role: "img" })));
    weights.forEach((weight, column) => {
      const share = top > floor ? (weight - floor) / (top - floor) : 0, color = colors[Math.round(share * 255)], tile = seen.children[column];
      tile.style.backgroundColor = `rgb(${color & 255} ${(color >> 8) & 255} ${(color >> 16) & 255} / ${cover(share)})`;
      tile.setAttribute("aria-label", `${names[column]}: ${number(weight)}`);
      tile.title = number(weight);
    });
    for (const tiles of [choices, seen]) {
      tiles.children[followed ?? row].classList.remove("from");
      tiles.children[row].classList.add("from");
    }
    [low.textContent, high.textContent, place.textContent] = [number(floor), number(top), `· from ${names[row]}`];
    followed = row;
  };
  follow(look.chosen);
  paintRamp(strip, colors);
  const pair = made("div", "", { class: "overlay place-map" });
  pair.append(figure("the image", choices), figure("", seen));
  return { nodes: [pair], meaning: [low, strip, high, place], follow };
}

DRAWINGS.place_map = { view: "image", draw: drawPlaceMap };
