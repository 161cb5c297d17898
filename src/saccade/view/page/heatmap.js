// The heat map on a canvas: tiles of 256 × 256 cells, drawn only where they can be seen, between sticky labeled axes.

const TILE = 256, TILES_KEPT = 160, LARGEST_CELL = 36, WIDEST_CELL = 76, CLOSEST = 56, STRIP = 8, READABLE = 15.5, CLOSER = 3.5, FONT_SIZE = 12, AIR = 8;
const FONT = `${FONT_SIZE}px ui-sans-serif, system-ui, -apple-system, "Segoe UI", "DejaVu Sans", Verdana, sans-serif`;

const between = (value, low, high) => Math.max(low, Math.min(high, value));

class HeatMap {
  constructor(canvas, colors) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.colors = colors;
    this.tiles = new Map();
    this.cuts = new Map();
    this.cursor = null;
    this.pinned = null;
    this.waiting = false;
  }

  // `axes` say what else is known of rows and columns: unknown tokens, probabilities, classes in colors of the palette.
  show(matrix, rows, columns, axes) {
    Object.assign(this, { matrix, axes, labels: { rows, columns } });
    this.tiles.clear();
    Object.assign(this, { zoom: 1, x: 0, y: 0, opening: 1 });
    this.resize();
  }

  // Few places: on a narrow screen begin so close that every name can be read.
  open() {
    const near = READABLE / Math.min(this.base.across, this.base.down);
    this.zoom = 1;
    this.zoomBy(near > 1 && near <= CLOSER ? near : 1, 0, 0);
    this.opening = this.zoom;
  }

  // Sizes: the margins hold the labels, the stage the cells; the whole matrix fits at zoom 1.
  resize() {
    if (!this.matrix) return;
    const { rows, columns } = this.matrix, width = this.canvas.parentElement.clientWidth;
    const widest = width < 480 ? 104 : 150;
    this.strip = this.axes.palette && this.axes.rows.classes ? STRIP : 0;
    this.left = Math.min(widest, this.longest(this.labels.rows)) + AIR + this.strip;
    this.right = this.axes.rows.percents ? this.longest(this.axes.rows.percents) + AIR : 0;
    const lying = this.longest(this.labels.columns);
    const room = Math.max(40, width - this.left - this.right - 1), tallest = Math.max(220, innerHeight * 0.72);
    this.upright = lying <= Math.min(WIDEST_CELL, room / columns) - 6 || lying <= 14;
    this.top = (this.upright ? FONT_SIZE + 4 : Math.min(110, lying)) + AIR;
    const high = tallest - this.top, even = Math.min(room / columns, high / rows, LARGEST_CELL);
    this.base = {
      across: Math.min(room / columns, Math.max(LARGEST_CELL, this.upright ? lying + 6 : 0), Math.max(even * 3, 14, this.upright ? lying + 6 : 0)),
      down: Math.min(high / rows, LARGEST_CELL, Math.max(even * 1.6, 14)),
    };
    this.width = Math.max(1, Math.min(room, this.base.across * columns));
    this.height = Math.max(1, this.base.down * rows);
    this.density = Math.min(3, devicePixelRatio || 1);
    this.canvas.width = Math.round(width * this.density);
    this.canvas.height = Math.round((this.top + this.height + 1) * this.density);
    this.canvas.style.height = `${this.top + this.height + 1}px`;
    this.canvas.dataset.cells = [this.left, this.top, this.base.across, this.base.down].join(" ");  // at zoom 1
    // As long as nobody has zoomed: a frame may be shown before it has its width.
    if (this.zoom === this.opening && !this.x && !this.y) this.open();
    else this.zoomBy(1, 0, 0);  // within the new limits
  }

  longest(labels) {
    this.context.font = FONT;
    const some = labels.length > 400 ? [...labels].sort((one, other) => other.length - one.length).slice(0, 100) : labels;
    return Math.ceil(some.reduce((most, label) => Math.max(most, this.context.measureText(label).width), 0));
  }

  fit() {
    Object.assign(this, { zoom: 1, x: 0, y: 0 });
    this.changed();
  }

  get across() { return this.base.across * this.zoom; }
  get down() { return this.base.down * this.zoom; }
  get closest() { return Math.max(1, CLOSEST / Math.min(this.base.across, this.base.down)); }

  // Zooms so that what is under the place (pixels of the stage) stays under it.
  zoomBy(factor, x = this.width / 2, y = this.height / 2) {
    const cell = { x: this.x + x / this.across, y: this.y + y / this.down };
    this.zoom = between(this.zoom * factor, 1, this.closest);
    this.moveTo(cell.x - x / this.across, cell.y - y / this.down);
  }

  moveTo(x, y) {
    this.x = between(x, 0, Math.max(0, this.matrix.columns - this.width / this.across));
    this.y = between(y, 0, Math.max(0, this.matrix.rows - this.height / this.down));
    this.changed();
  }

  reveal({ row, column }) {
    const wide = this.width / this.across, high = this.height / this.down;
    this.moveTo(between(this.x, column + 1 - wide, column), between(this.y, row + 1 - high, row));
  }

  // The cell under a place of the canvas; over the labels at the left it is the row alone.
  at(x, y) {
    const row = Math.floor(this.y + (y - this.top) / this.down), column = Math.floor(this.x + (x - this.left) / this.across);
    if (y < this.top || row < 0 || row >= this.matrix.rows || x > this.left + this.width) return null;
    return x < this.left ? { row, column: null } : column < this.matrix.columns ? { row, column } : null;
  }

  changed() {
    this.canvas.classList.toggle("zoomed", this.zoom > 1);
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw(this.context, this.density);
    });
  }

  draw(context, density) {
    const style = getComputedStyle(document.documentElement), color = (name) => style.getPropertyValue(name).trim();
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = color("--paper");
    context.fillRect(0, 0, context.canvas.width, context.canvas.height);
    context.setTransform(density, 0, 0, density, 0, 0);
    this.drawCells(context, density);
    this.drawNames(context, color("--quiet"), color("--ink"));
    this.drawMarks(context, color("--accent"));
  }

  drawCells(context, density) {
    const pooling = (size) => 2 ** Math.max(0, Math.floor(Math.log2(1 / (size * density)) + 1e-6));
    const down = pooling(this.down), across = pooling(this.across), { rows, columns } = this.matrix.pool(down, across);
    const wide = this.across * across, high = this.down * down;
    context.save();
    context.beginPath();
    context.rect(this.left, this.top, this.width, this.height);
    context.clip();
    context.imageSmoothingEnabled = false;
    const last = (start, size, step, count) => Math.min(Math.floor((start + size) / step / TILE), Math.floor((count - 1) / TILE));
    const origin = { x: this.x * this.across, y: this.y * this.down };
    const snap = (place) => Math.round(place * density) / density;  // no seams between tiles
    for (let j = Math.floor(origin.y / high / TILE); j <= last(origin.y, this.height, high, rows); j++) {
      for (let i = Math.floor(origin.x / wide / TILE); i <= last(origin.x, this.width, wide, columns); i++) {
        const tile = this.tile(down, across, j, i);
        const x = this.left + i * TILE * wide - origin.x, y = this.top + j * TILE * high - origin.y;
        const [x0, y0] = [snap(x), snap(y)];
        context.drawImage(tile, x0, y0, snap(x + tile.width * wide) - x0, snap(y + tile.height * high) - y0);
      }
    }
    context.restore();
  }

  tile(down, across, j, i) {
    const key = `${down}/${across}/${j}/${i}`, known = this.tiles.get(key);
    if (known) return known;
    const { levels, rows, columns } = this.matrix.pool(down, across);
    const tile = document.createElement("canvas");
    tile.width = Math.min(TILE, columns - i * TILE);
    tile.height = Math.min(TILE, rows - j * TILE);
    const image = new ImageData(tile.width, tile.height), pixels = new Uint32Array(image.data.buffer);
    for (let row = 0; row < tile.height; row++) {
      const from = (j * TILE + row) * columns + i * TILE, to = row * tile.width;
      for (let column = 0; column < tile.width; column++) pixels[to + column] = this.colors[levels[from + column]];
    }
    tile.getContext("2d").putImageData(image, 0, 0);
    if (this.tiles.size >= TILES_KEPT) this.tiles.delete(this.tiles.keys().next().value);
    this.tiles.set(key, tile);
    return tile;
  }

  // Labels that would touch are left out, every second, every fifth … The one under the cursor is always there.
  drawNames(context, quiet, ink) {
    context.font = FONT;
    context.textBaseline = "middle";
    const row = this.cursor?.row ?? this.pinned, column = this.cursor?.column ?? null;
    for (const index of this.named(this.y, this.height, this.down, this.matrix.rows, FONT_SIZE + 3, row)) {
      context.textAlign = "right";
      context.fillStyle = index === row || index === this.pinned ? ink : quiet;
      const y = this.top + (index + 0.5 - this.y) * this.down;
      if (y <= this.top || y >= this.top + this.height) continue;
      const edge = this.left - 6 - this.strip;
      const wide = this.write(context, this.labels.rows[index], edge, y, edge - 2);
      if (this.axes.rows.unknown?.includes(index)) this.dots(context, edge - wide, y + FONT_SIZE / 2 + 1, wide);
      context.textAlign = "left";
      if (this.right) context.fillText(this.axes.rows.percents[index], this.left + this.width + 6, y);
    }
    const apart = this.upright ? Math.max(FONT_SIZE + 3, this.longest(this.labels.columns.slice(0, 400)) + 3) : FONT_SIZE + 3;
    for (const index of this.named(this.x, this.width, this.across, this.matrix.columns, apart, column)) {
      context.fillStyle = index === column ? ink : quiet;
      const x = this.left + (index + 0.5 - this.x) * this.across;
      if (x < this.left || x > this.left + this.width) continue;
      context.save();
      context.translate(x, this.top - 6);
      context.textAlign = this.upright ? "center" : "left";
      if (!this.upright) context.rotate(-Math.PI / 2);
      const wide = this.write(context, this.labels.columns[index], 0, this.upright ? -FONT_SIZE / 2 : 0, this.upright ? Infinity : this.top - 8);
      if (this.axes.columns.unknown?.includes(index)) this.dots(context, this.upright ? -wide / 2 : 0, this.upright ? 2 : FONT_SIZE / 2 + 1, wide);
      context.restore();
    }
    if (this.strip) this.drawClasses(context);
  }

  // A dotted line under a token that is unknown to the tokenizer.
  dots(context, x, y, wide) {
    context.save();
    context.setLineDash([1.5, 2]);
    context.strokeStyle = context.fillStyle;
    context.lineWidth = 1.25;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x + wide, y);
    context.stroke();
    context.restore();
  }

  drawClasses(context) {
    context.save();
    context.beginPath();
    context.rect(this.left - this.strip, this.top, this.strip, this.height);
    context.clip();
    this.axes.rows.classes.forEach((name, row) => {
      context.fillStyle = this.axes.palette[name];
      context.fillRect(this.left - this.strip, this.top + (row - this.y) * this.down, this.strip - 3, this.down);
    });
    context.restore();
  }

  // Which places of a side are named; beside the one that must be, its neighbors give way.
  named(start, size, step, count, apart, must) {
    const every = [1, 2, 5].flatMap((digit) => [0, 1, 2, 3, 4, 5, 6].map((power) => digit * 10 ** power))
      .sort((one, other) => one - other).find((each) => each * step >= apart) ?? count;
    const first = Math.ceil(Math.max(0, Math.floor(start)) / every) * every, chosen = [];
    for (let index = first; index < Math.min(count, start + size / step); index += every) {
      if (must === null || index === must || Math.abs(index - must) * step >= apart) chosen.push(index);
    }
    return must === null || chosen.includes(must) ? chosen : [...chosen, must];
  }

  write(context, label, x, y, room) {
    context.direction = "ltr";
    const shown = this.cut(context, label, room);
    context.fillText(shown, x, y);
    return context.measureText(shown).width;
  }

  cut(context, label, room) {
    const key = `${room}/${label}`;
    if (this.cuts.size > 20000) this.cuts.clear();
    if (!this.cuts.has(key)) {
      const letters = [...label];
      let keep = letters.length;
      if (context.measureText(label).width > room) {
        keep = Math.min(keep, Math.floor(room / 3));
        while (keep > 1 && context.measureText(letters.slice(0, keep).join("") + "…").width > room) keep--;
      }
      this.cuts.set(key, keep < letters.length ? letters.slice(0, keep).join("") + "…" : label);
    }
    return this.cuts.get(key);
  }

  // The pinned row between two lines, the cell under the cursor in a frame.
  drawMarks(context, accent) {
    context.save();
    context.beginPath();
    context.rect(this.left - 3, this.top - 2, this.width + 5, this.height + 3);
    context.clip();
    const frame = (x, y, width, height) => {
      for (const [line, color] of [[3.5, "rgba(10, 8, 24, 0.75)"], [1.5, "#ffffff"]]) {
        context.lineWidth = line;
        context.strokeStyle = color;
        context.strokeRect(x, y, width, height);
      }
    };
    const y = (row) => this.top + (row - this.y) * this.down;
    if (this.pinned !== null) {
      const thick = Math.max(this.down, 3);
      frame(this.left, y(this.pinned) + (this.down - thick) / 2, this.width, thick);
    }
    if (this.cursor && this.cursor.column !== null) {
      const size = { x: Math.max(this.across, 5), y: Math.max(this.down, 5) };
      const x = this.left + (this.cursor.column - this.x) * this.across + (this.across - size.x) / 2;
      frame(x, y(this.cursor.row) + (this.down - size.y) / 2, size.x, size.y);
    }
    context.restore();
  }
}
