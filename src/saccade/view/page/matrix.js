// The numbers of one look: unpacked when asked for, a head or the mean of all, and pooled for a view from afar.

function unpacked(text, bits) {
  const raw = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return bits === 8 ? raw : new Uint16Array(raw.buffer);
}

// A list of edges as a matrix: the cells without an edge have weight 0.
function asMatrix(values, look) {
  if (!look.cells) return values;
  const [rows, columns] = look.shape, step = (look.high - look.low) / (2 ** look.bits - 1);
  const dense = new values.constructor(rows * columns).fill(step ? Math.round(-look.low / step) : 0);
  new Uint32Array(unpacked(look.cells, 8).slice().buffer).forEach((cell, edge) => { dense[cell] = values[edge]; });
  return dense;
}

class Matrix {
  // One picture: `values(cell)` in the weights' own numbers, `levels` between 0 (weight 0, or the smallest if below) and 255 (the largest).
  constructor(look, head) {
    [this.rows, this.columns] = look.shape;
    const chosen = head === null ? look.weights : [look.weights[head]];
    const heads = chosen.map((text) => asMatrix(unpacked(text, look.bits), look));
    const sum = heads.length === 1 ? heads[0] : new Uint32Array(heads[0].length);
    if (heads.length > 1) for (const each of heads) for (let cell = 0; cell < sum.length; cell++) sum[cell] += each[cell];
    this.sum = sum;
    this.low = look.low;
    this.step = (look.high - look.low) / ((2 ** look.bits - 1) * heads.length);
    this.signed = look.kind === "attribution";
    this.pooled = new Map();
    this.level();
  }

  level() {
    let least = Infinity, most = -Infinity;
    for (const value of this.sum) {
      if (value < least) least = value;
      if (value > most) most = value;
    }
    this.least = this.low + least * this.step;
    this.most = this.low + most * this.step;
    this.floor = this.most > 0 ? Math.min(0, this.least) : this.least;  // where the colors begin: from 0, a nearly uniform map looks uniform
    const levels = new Uint8Array(this.sum.length), range = this.most - this.floor;
    if (this.signed) {  // 0 in the middle of the colors
      this.most = Math.max(Math.abs(this.least), Math.abs(this.most));
      this.least = this.floor = -this.most;
      for (let cell = 0; cell < levels.length; cell++) levels[cell] = 127.5 + (this.low + this.sum[cell] * this.step) / (this.most || 1) * 127.5;
    } else for (let cell = 0; cell < levels.length; cell++) levels[cell] = range > 0 ? (this.low + this.sum[cell] * this.step - this.floor) / range * 255 + 0.5 : 128;
    this.pooled.set("1/1", { levels, rows: this.rows, columns: this.columns });
  }

  value(row, column) {
    return this.low + this.sum[row * this.columns + column] * this.step;
  }

  row(row) {
    return Float64Array.from({ length: this.columns }, (_, column) => this.value(row, column));
  }

  // The largest level of each block of cells (of signed ones, the farthest from 0), so that a thin line survives. Down and across are powers of two.
  pool(down, across) {
    const key = `${down}/${across}`;
    if (this.pooled.has(key)) return this.pooled.get(key);
    const finer = down >= across && down > 1 ? this.pool(down / 2, across) : this.pool(down, across / 2);
    const halves = down >= across && down > 1 ? [2, 1] : [1, 2];
    const rows = Math.ceil(finer.rows / halves[0]), columns = Math.ceil(finer.columns / halves[1]);
    const levels = new Uint8Array(rows * columns).fill(this.signed ? 128 : 0), far = (level) => (this.signed ? Math.abs(level - 128) : level);
    for (let row = 0; row < finer.rows; row++) {
      const from = row * finer.columns, to = (halves[0] === 2 ? row >> 1 : row) * columns, shift = halves[1] - 1;
      for (let column = 0; column < finer.columns; column++) {
        const place = to + (column >> shift), level = finer.levels[from + column];
        if (far(level) > far(levels[place])) levels[place] = level;
      }
    }
    const result = { levels, rows, columns };
    this.pooled.set(key, result);
    return result;
  }
}

// The ramp itself, from left to right.
function paintRamp(canvas, colors) {
  const context = canvas.getContext("2d");
  colors.forEach((color, level) => {
    context.fillStyle = `rgb(${color & 255} ${(color >> 8) & 255} ${(color >> 16) & 255})`;
    context.fillRect(level * canvas.width / 256, 0, 1, canvas.height);
  });
}

// 256 colors between the anchors of the ramp, as the four bytes of a pixel.
function ramp(anchors) {
  const bytes = new Uint8ClampedArray(256 * 4);
  for (let level = 0; level < 256; level++) {
    const place = level / 255 * (anchors.length - 1), before = Math.min(Math.floor(place), anchors.length - 2);
    for (let channel = 0; channel < 3; channel++) {
      const [from, to] = [anchors[before][channel], anchors[before + 1][channel]];
      bytes[level * 4 + channel] = Math.round(from + (to - from) * (place - before));
    }
    bytes[level * 4 + 3] = 255;
  }
  return new Uint32Array(bytes.buffer);
}
