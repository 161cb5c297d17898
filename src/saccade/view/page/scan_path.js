// The path of the heaviest cell from word to word, drawn as a path of glimpses.

function drawScanPath({ look, matrix, rows, images, colors }) {
  const [height, width] = look.size, [down, across] = look.grid, tall = height / down, wide = width / across;
  const places = Array.from({ length: Math.min(matrix.rows, look.most) }, (_, row) => {
    const weights = matrix.row(row), place = weights.indexOf(largest(weights));
    return [[Math.floor(place / across) * tall, (place % across) * wide, tall, wide]];
  });
  return drawGlimpsePath({ look: { ...look, places }, rows, images, colors });
}

DRAWINGS.scan_path = { view: "scan path", draw: drawScanPath, wide: true };
