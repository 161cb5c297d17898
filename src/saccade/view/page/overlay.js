// An image in tiles, plain and under the colors of its weights.

function drawOverlay({ look, matrix, names, images, colors }) {
  const weights = matrix.row(0), [, columns] = look.grid, source = images[look.images[0]];
  const low = Math.min(0, matrix.least), high = Math.max(0, matrix.most), [least, most] = look.cover;
  const cover = (share) => least + (most - least) * (matrix.signed ? Math.abs(2 * share - 1) : share);
  const shown = (alt) => made("img", "", { alt, src: source, class: look.crisp ? "crisp" : "" });
  const pair = made("div", "", { class: "overlay" }), plain = made("figure"), painted = made("figure");
  const tiles = made("div", "", { class: "tiles", role: "group", "aria-label": "Tiles, colored by their weights" });
  tiles.style.gridTemplateColumns = `repeat(${columns}, 1fr)`;
  tiles.append(...Array.from(weights, (weight, place) => {
    const share = high > low ? (weight - low) / (high - low) : 0, color = colors[Math.round(share * 255)];
    const tile = piece("span", "", 0, place, share, weight);
    tile.style.backgroundColor = `rgb(${color & 255} ${(color >> 8) & 255} ${(color >> 16) & 255} / ${cover(share)})`;
    tile.setAttribute("role", "img");
    tile.setAttribute("aria-label", `${names[place]}: ${number(weight)}`);
    return tile;
  }));
  plain.append(shown("the image"));
  painted.append(shown(""), tiles);
  pair.append(plain, painted);
  const strip = made("canvas", "", { class: "ramp", width: 96, height: 10, "aria-hidden": "true" });
  paintRamp(strip, colors);
  return { nodes: [pair], meaning: [number(low), strip, made("span", number(high)), made("span", `· ${look.grid.join(" × ")} tiles`)] };
}

DRAWINGS.overlay = { view: "image", draw: drawOverlay };
