// The page: what is selected, what is pointed at, and its weights. All text goes in as text, never as markup.

const find = (id) => document.getElementById(id);
const trace = JSON.parse(find("trace").textContent);
const ramps = { plain: ramp(trace.anchors), signed: ramp(trace.signed) };
const map = new HeatMap(find("cells"), ramps.plain);
const JOINED = new Set(["characters", "letters", "bytes", "pieces", "tokens"]);  // written without spaces between
const PARTS = new Set(["pieces", "tokens"]), SPACED = /^[ ▁Ġ]/;  // pieces that do not tell where words begin are set apart
const MOST_TEXT = 4000, TOP = 10, NEAR = 4, MOST_NAMED = 12;
const HELP = {
  path: "Point at a glimpse, or move with the Tab and arrow keys, to read its place.",
  drawn: "Point at a place, or move with the Tab and arrow keys, to read its weight.",
  pinned: " Click or Enter pins a row.",
  heatmap: "Point at a cell, or move with the arrow keys. Click or Enter pins a row, Escape lets it go. The wheel, a pinch, + and − zoom; dragging moves; 0 shows all.",
};
const state = { scene: 0, look: 0, head: null, view: null, pinned: null, cursor: null, follow: null, tell: null };
const pieces = new Pieces(find("drawing"), (cell) => point(cell), (row) => map.matrix.rows > 1 && pin(row));

function made(tag, text = "", attributes = {}) {
  const element = document.createElement(tag);
  element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

// A label as a name: spaces at its ends can be seen, and so can nothing.
function named(label) {
  return label === "" ? '""' : label.replace(/^ +| +$/g, (spaces) => "␣".repeat(spaces.length));
}

function number(value) {
  if (Math.abs(value) < 1e-12) return "0";  // no weight is stored so finely
  return Math.abs(value) < 0.001 || Math.abs(value) >= 1e5 ? value.toExponential(2) : value.toPrecision(3);
}

const scene = () => trace.scenes[state.scene];
const look = () => scene().looks[state.look];
const axis = (which) => scene().axes[which];
const isPath = () => map.matrix.columns === 0;  // of glimpses: it has no weights
const colors = () => (look().kind === "attribution" ? ramps.signed : ramps.plain);
const shownAs = () => (look().views.includes(state.view) ? state.view : look().views[0]);
const drawn = () => shownAs() in DRAWINGS;
const firstLook = (looks) => Math.max(0, looks.findIndex((each) => each.kind !== "attribution"));
const active = () => state.pinned ?? state.cursor?.row ?? look().chosen ?? 0;

// The address names what is shown: #scene=2&look=…&head=1. Scenes count from 1, heads from 0.
function readAddress(address = location.hash.slice(1)) {
  const words = new URLSearchParams(address);
  const wanted = { look: words.get("look") ?? trace.first.look, head: words.get("head") ?? trace.first.head };
  const place = Math.trunc(Number(words.get("scene") ?? trace.first.scene + 1)) - 1;
  state.scene = place >= 0 && place < trace.scenes.length ? place : 0;
  const named = scene().looks.findIndex((each) => each.name === wanted.look);
  state.look = named >= 0 ? named : firstLook(scene().looks);
  state.why = words.has("scene") || words.has("look") ? "" : trace.first.why;
  const head = wanted.head === null || wanted.head === "" ? -1 : Number(wanted.head);
  const view = words.get("view") ?? trace.first.view;
  state.view = look().views.includes(view) ? view : null;
  state.head = Number.isInteger(head) && head >= 0 && head < look().weights.length ? head : null;
}

function writeAddress() {
  const words = new URLSearchParams({ scene: state.scene + 1, look: look().name });
  if (state.head !== null) words.set("head", state.head);
  if (state.view !== null) words.set("view", state.view);
  if (trace.linked) parent.postMessage({ saccade: String(words) }, "*");
  try {
    history.replaceState(null, "", `#${words}`);
  } catch {
    // Some browsers keep addresses of local files as they are; everything else works.
  }
}

function choose(change) {
  Object.assign(state, { pinned: null, cursor: null, why: "" }, change);
  if ("scene" in change) {
    const same = scene().looks.findIndex((each) => each.name === change.name);
    Object.assign(state, { look: same >= 0 ? same : firstLook(scene().looks) });
  }
  if (state.head !== null && state.head >= look().weights.length) state.head = null;
  writeAddress();
  showAll();
}

function showAll() {
  showScenes();
  showHead();
  showChoices();
  const { queries, keys } = look();
  map.matrix = new Matrix(look(), look().weights.length === 1 ? 0 : state.head);
  showText("queries", queries, true);
  showText("keys", keys, false);
  map.labels = { rows: axis(queries).labels.map(named), columns: axis(keys).labels.map(called) };
  showStage();
  point(null);
}

// Images, tiles and instances without a label are called by their number, or by their row and column.
function called(label, place) {
  const { drawing, grid } = look();
  if (label !== "" || drawing === "heatmap" || drawing === "shaded_text") return named(label);
  return grid ? `${Math.floor(place / grid[1])}, ${place % grid[1]}` : String(place);
}

function showStage() {
  find("drawn").hidden = !drawn();
  find("heatmap").hidden = find("texts").hidden = drawn();
  const whole = drawn() && Boolean(DRAWINGS[shownAs()].whole);
  showRemarks();
  find("heads").classList.toggle("unseen", whole);
  find("readout").hidden = find("help").hidden = whole;
  find("help").textContent = isPath() ? HELP.path : drawn() ? HELP.drawn + (map.matrix.rows > 1 ? HELP.pinned : "") : HELP.heatmap;
  find("pin").hidden = drawn() && map.matrix.rows === 1;
  find("row").hidden = isPath() || whole;
  find("work").classList.toggle("wide", drawn() && Boolean(DRAWINGS[shownAs()].wide));
  if (!drawn()) Object.assign(state, { follow: null, tell: null });
  if (drawn()) return showDrawing();
  showLegend();
  const { queries, keys } = look();
  map.colors = colors();
  map.show(map.matrix, map.labels.rows, map.labels.columns, { rows: axis(queries), columns: axis(keys), palette: scene().palette });
}

// What must be said of the look itself, before it is read.
function showRemarks() {
  const { flat, remark } = look(), said = flat?.[state.head === null ? 0 : state.head + 1];
  const unknown = [...new Set([look().queries, look().keys])].flatMap((which) => axis(which).unknown?.map((place) => named(axis(which).labels[place])) ?? []);
  const lines = [remark, said && "nearly uniform: each row looks at everything alike", state.why];
  const notes = lines.filter(Boolean).map((line) => made("span", line));
  if (unknown.length) {
    const note = made("span", "unknown to the tokenizer: ");
    note.append(...[...new Set(unknown)].slice(0, MOST_NAMED).flatMap((name) => [made("bdi", name, { class: "unknown" }), " "]));
    notes.push(note);
  }
  if (scene().palette && !drawn()) notes.push(classLegend(scene().palette));
  find("remarks").replaceChildren(...notes);
}

function showDrawing() {
  const { labels, kind } = axis(look().keys), { queries, keys } = look();
  const { nodes, meaning, follow, tell } = DRAWINGS[shownAs()].draw({
    look: look(), scene: scene(), head: state.head, matrix: map.matrix, names: map.labels.columns, labels, kind, colors: colors(), ramps, images: trace.images, rows: map.labels.rows,
    axes: { queries: axis(queries), keys: axis(keys) }, current: { look: state.look, head: state.head },
    open: (index, head) => choose({ look: index, head, view: null }),
  });
  Object.assign(state, { follow, tell });
  pieces.show(nodes);
  find("meaning").replaceChildren(...meaning);
}

function showScenes() {
  const list = find("scenes").querySelector("ol");
  if (!list.children.length) {
    trace.scenes.forEach((each, index) => {
      const button = made("button", "", { type: "button" });
      button.append(made("b", index + 1), made("span", each.title || "untitled", { dir: "ltr" }));
      button.addEventListener("click", () => choose({ scene: index, name: look().name }));
      const item = made("li");
      item.append(button);
      list.append(item);
    });
  }
  [...list.children].forEach((item, index) => item.firstChild.setAttribute("aria-current", String(index === state.scene)));
  find("scenes").hidden = trace.scenes.length < 2;
  find("house").classList.toggle("several", trace.scenes.length > 1);
}

function showHead() {
  find("system").textContent = trace.system || "saccade";
  find("title").textContent = scene().title || "untitled";
  find("notes").replaceChildren(...scene().notes.map(([name, note]) => {
    const pair = made("div"), value = made("dd");
    value.append(made("bdi", typeof note === "number" ? String(Number(note.toPrecision(4))) : note));
    pair.append(made("dt", name), value);
    return pair;
  }));
}

function showChoices() {
  const looks = scene().looks;
  find("look").replaceChildren(...looks.map((each, index) => made("option", each.name, { value: index })));
  find("look").value = String(state.look);
  find("look-label").hidden = looks.length < 2;
  const heads = look().weights.length, legend = find("heads").querySelector("legend");
  const choices = heads > 1 ? [null, ...Array(heads).keys()] : [];
  find("heads").replaceChildren(legend, ...choices.map((head) => option("head", head ?? "mean", head === state.head, () => keepPlace({ head }))));
  find("heads").hidden = heads < 2;
  const views = look().views.length > 1 ? look().views : [];
  find("views").replaceChildren(find("views").querySelector("legend"), ...views.map((view) => {
    return option("view", DRAWINGS[view]?.view ?? "heat map", view === shownAs(), () => chooseView(view === views[0] ? null : view));
  }));
  find("views").hidden = !views.length;
  find("choices").hidden = heads < 2 && looks.length < 2 && !views.length;
}

function option(group, name, checked, chosen) {
  const label = made("label"), input = made("input", "", { type: "radio", name: group, value: name });
  input.checked = checked;
  input.addEventListener("change", chosen);
  label.append(input, made("span", name));
  return label;
}

function chooseView(view) {
  Object.assign(state, { view, pinned: null });
  writeAddress();
  showStage();
  point(null);
}

// Another head of the same look: the pinned row, the cell and the focus stay where they are.
function keepPlace(change) {
  const { pinned, cursor } = state;
  Object.assign(state, change);
  writeAddress();
  const { zoom, x, y } = map;
  map.matrix = new Matrix(look(), state.head);
  showStage();
  if (!drawn()) Object.assign(map, { zoom, x, y });
  state.pinned = pinned;
  point(cursor);
}

function showText(id, which, clickable) {
  const { name, kind, labels, percents, probabilities } = axis(which), line = find(id);
  const joined = JOINED.has(kind) && (!PARTS.has(kind) || labels.some((label) => SPACED.test(label)));
  find(`${id}-name`).textContent = name === kind ? name : `${name}, ${kind}`;
  const pieces = labels.slice(0, MOST_TEXT).flatMap((label, index) => {
    const piece = marked(made("i", joined ? label || "∅" : named(label), clickable ? { "data-row": index } : {}), axis(which), index);
    if (percents) {
      piece.classList.add("probable");
      piece.style.setProperty("--share", shareOf(probabilities[index]));
      piece.title = [`probability ${percents[index]}`, piece.title].filter(Boolean).join(", ");
    }
    return joined ? [piece] : [piece, " "];
  });
  line.replaceChildren(...pieces, labels.length > MOST_TEXT ? "…" : "");
  map[`${id}Pieces`] = [...line.children];
}

function showLegend() {
  const { floor, least, most } = map.matrix;
  const apart = least - floor > 0.01 * (most - floor);  // a smallest weight that is not drawn as 0
  find("low").textContent = number(apart ? floor : least);
  find("high").textContent = number(most) + (apart ? `, min ${number(least)}` : "");
  paintRamp(find("ramp"), colors());
}

// What is pointed at: the map's frame, the line of text, the readout and the table follow, once a frame.
let pending = false;
function point(cell) {
  state.cursor = cell;
  map.cursor = cell;
  map.pinned = state.pinned;
  if (!drawn()) map.changed();
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => {
    pending = false;
    showRow();
    showReadout();
  });
}

function showRow() {
  const row = active();
  state.follow?.(row, state.pinned !== null || state.cursor !== null);
  if (isPath()) return;
  const weights = map.matrix.row(row), signed = map.matrix.signed;
  const most = weights.reduce((one, other) => Math.max(one, signed ? Math.abs(other) : other), 0);
  const style = getComputedStyle(document.documentElement);
  const [mark, above, below, strength] = ["--mark", "--above", "--below", "--strength"].map((name) => style.getPropertyValue(name).trim());
  map.keysPieces.forEach((piece, index) => {
    const share = most > 0 ? Math.max(0, (signed ? Math.abs(weights[index]) : weights[index]) / most) : 0;
    const color = signed ? (weights[index] < 0 ? below : above) : mark;
    piece.style.backgroundColor = share > 0.05 ? `rgb(${color} / ${(share * strength).toFixed(3)})` : "";
  });
  find("queries").querySelector(".here")?.classList.remove("here");
  map.queriesPieces[row]?.classList.add("here");
  scrolledTo(find("queries"), map.queriesPieces[row]);
  scrolledTo(find("keys"), map.keysPieces[weights.indexOf(most)]);
  showTable(row, weights, most);
}

// A long text follows: what is spoken of comes into view, inside its own box.
function scrolledTo(box, piece) {
  if (!piece || box.scrollHeight <= box.clientHeight || box.matches(":hover")) return;
  const above = piece.offsetTop, below = above + piece.offsetHeight - box.clientHeight;
  if (box.scrollTop > above || box.scrollTop < below) box.scrollTop = above - box.clientHeight / 2;
}

function showTable(row, weights, most) {
  const order = topOf(look().kind === "attribution" ? weights.map(Math.abs) : weights), labels = map.labels.columns;
  find("row-title").replaceChildren(made("bdi", map.labels.rows[row]), chance(row), ` ${verb()}`);
  find("key-column").textContent = axis(look().keys).name;
  find("top").tBodies[0].replaceChildren(...order.map((key) => {
    const line = made("tr"), name = made("td"), bar = made("td"), length = made("span", "", { class: "length" });
    name.append(made("bdi", labels[key]), labels[key] === String(key) ? "" : made("span", key, { class: "place" }));
    length.style.width = `${most > 0 ? Math.max(0, Math.min(1, Math.abs(weights[key]) / most)) * 100 : 0}%`;
    if (look().kind === "attribution") length.classList.add(weights[key] < 0 ? "below" : "above");
    bar.append(length);
    line.append(name, made("td", number(weights[key])), bar);
    return line;
  }));
  const others = weights.length - order.length;
  find("rest").textContent = others > 0 ? `and ${others} more with less` : "";
  const pinned = state.pinned !== null;
  find("pin").setAttribute("aria-pressed", String(pinned));
  find("pin").textContent = pinned ? "Pinned" : "Pin row";
}

// The largest few, without sorting thousands.
function topOf(weights) {
  const best = [];
  weights.forEach((weight, key) => {
    if (best.length === TOP && weight <= weights[best[TOP - 1]]) return;
    let place = best.length;
    while (place > 0 && weights[best[place - 1]] < weight) place--;
    best.splice(place, 0, key);
    if (best.length > TOP) best.pop();
  });
  return best;
}

// The probability of a written token, behind its name.
function chance(row) {
  const percents = axis(look().queries).percents;
  return percents ? made("span", ` (${percents[row]})`, { class: "quiet", title: "probability" }) : "";
}

const verb = () => (look().kind === "attribution" ? "moved by" : "looked at");

function showReadout() {
  const cell = state.cursor, said = find("readout");
  if (!cell || cell.column === null) {
    const hint = isPath() ? "Point at a glimpse to read its place." : drawn() ? "Point at a place to read its weight." : "Point at a cell to read its weight.";
    said.replaceChildren(made("span", state.pinned === null ? hint : `Row ${state.pinned} is pinned.`, { class: "quiet" }));
    return;
  }
  if (state.tell) return said.replaceChildren(...state.tell(cell.row));
  said.replaceChildren(
    made("bdi", map.labels.rows[cell.row]), chance(cell.row), made("span", ` ${verb()} `, { class: "quiet" }),
    made("bdi", map.labels.columns[cell.column]), made("span", " with ", { class: "quiet" }),
    made("b", number(map.matrix.value(cell.row, cell.column))),
    made("span", drawn() ? ` (place ${cell.column})` : ` (row ${cell.row}, column ${cell.column})`, { class: "quiet" }),
  );
}

function pin(row) {
  state.pinned = state.pinned === row ? null : row;
  point(state.cursor);
}

// Pointers: hover points, a click pins, a drag moves, two fingers zoom.
const pointers = new Map();
let pressed = null, pinch = null;

function place(event) {
  const box = map.canvas.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}

function spread() {
  const [one, other] = [...pointers.values()];
  return { distance: Math.hypot(one.x - other.x, one.y - other.y), x: (one.x + other.x) / 2, y: (one.y + other.y) / 2 };
}

map.canvas.addEventListener("pointerdown", (event) => {
  if (event.button !== 0) return;
  pointers.set(event.pointerId, place(event));
  map.canvas.setPointerCapture(event.pointerId);
  pressed = { ...place(event), from: { x: map.x, y: map.y }, moved: false };
  pinch = pointers.size === 2 ? spread() : null;
});

map.canvas.addEventListener("pointermove", (event) => {
  const here = place(event);
  if (pointers.has(event.pointerId)) pointers.set(event.pointerId, here);
  if (pinch && pointers.size === 2) return pinched();
  if (!pressed) return point(map.at(here.x, here.y) ?? state.cursor);
  if (Math.hypot(here.x - pressed.x, here.y - pressed.y) > NEAR) pressed.moved = true;
  if (!pressed.moved) return;
  map.canvas.classList.add("moving");
  map.moveTo(pressed.from.x - (here.x - pressed.x) / map.across, pressed.from.y - (here.y - pressed.y) / map.down);
});

function pinched() {
  const now = spread();
  map.zoomBy(now.distance / Math.max(1, pinch.distance), now.x - map.left, now.y - map.top);
  map.moveTo(map.x - (now.x - pinch.x) / map.across, map.y - (now.y - pinch.y) / map.down);
  pinch = now;
  pressed = { ...pressed, moved: true };
}

function released(event) {
  const was = pressed, here = place(event);
  pointers.delete(event.pointerId);
  map.canvas.classList.remove("moving");
  pinch = null;
  pressed = null;
  if (event.type === "pointercancel" || !was || was.moved || pointers.size) return;
  const cell = map.at(here.x, here.y);
  if (!cell) return;
  state.cursor = cell;
  pin(cell.row);
}
map.canvas.addEventListener("pointerup", released);
map.canvas.addEventListener("pointercancel", released);

map.canvas.addEventListener("wheel", (event) => {
  const farther = event.deltaY > 0;
  if (farther && map.zoom === 1) return;  // nothing is left to zoom out of: the page scrolls
  event.preventDefault();
  const here = place(event), lines = event.deltaMode === 1 ? 16 : 1;
  map.zoomBy(Math.exp(-between(event.deltaY * lines, -120, 120) * (event.ctrlKey ? 0.01 : 0.003)), here.x - map.left, here.y - map.top);
}, { passive: false });

// Keys: arrows walk over cells, Enter pins, + − 0 zoom.
const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], PageUp: [-10, 0], PageDown: [10, 0] };

function walked(key, from) {
  const { rows, columns } = map.matrix;
  if (key === "Home") return { row: from.row, column: 0 };
  if (key === "End") return { row: from.row, column: columns - 1 };
  const [down, right] = STEPS[key];
  return { row: between(from.row + down, 0, rows - 1), column: between((from.column ?? 0) + right, 0, columns - 1) };
}

map.canvas.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { key } = event;
  if (key in STEPS || key === "Home" || key === "End") {
    point(state.cursor && state.cursor.column !== null ? walked(key, state.cursor) : { row: active(), column: 0 });
    map.reveal(state.cursor);
  } else if (key === "Enter" || key === " ") pin(state.cursor?.row ?? active());
  else if (key === "Escape") pin(state.pinned);
  else if (key === "+" || key === "=") map.zoomBy(1.5);
  else if (key === "-") map.zoomBy(1 / 1.5);
  else if (key === "0") map.fit();
  else return;
  event.preventDefault();
});
map.canvas.addEventListener("focus", () => {
  if (!state.cursor && map.canvas.matches(":focus-visible")) point({ row: active(), column: 0 });
});

// Reading the written text points, too: a letter or word there is a row here.
find("queries").addEventListener("pointerover", (event) => {
  const row = event.target.dataset?.row;
  if (row !== undefined) point({ row: Number(row), column: null });
});
find("queries").addEventListener("click", (event) => {
  const row = event.target.dataset?.row;
  if (row !== undefined) pin(Number(row));
});

function saveImage() {
  const density = 2, bar = 64, width = map.left + map.width + 24, height = map.top + map.height + bar + 24;
  const canvas = document.createElement("canvas"), context = canvas.getContext("2d");
  const picture = document.createElement("canvas");
  Object.assign(picture, { width: Math.round((map.left + map.width + 2) * density), height: Math.round((map.top + map.height + 2) * density) });
  map.draw(picture.getContext("2d"), density);
  Object.assign(canvas, { width: Math.round(width * density), height: Math.round(height * density) });
  const style = getComputedStyle(document.documentElement), color = (name) => style.getPropertyValue(name).trim();
  context.fillStyle = color("--paper");
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(picture, 12 * density, bar * density);
  context.scale(density, density);
  context.fillStyle = color("--ink");
  context.font = FONT.replace(/^\d+px/, "600 16px");
  context.fillText(map.cut(context, scene().title, width - 32), 16, 28);
  context.font = FONT;
  context.fillStyle = color("--quiet");
  context.fillText(map.cut(context, caption(), width - 32), 16, 48);
  canvas.toBlob((blob) => {
    const link = made("a", "", { href: URL.createObjectURL(blob), download: `look-${state.scene + 1}.png` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });
}

function caption() {
  const heads = look().weights.length, which = heads < 2 ? [] : [state.head === null ? `mean of ${heads} heads` : `head ${state.head}`];
  return [look().name, ...which, `${number(map.matrix.least)} to ${number(map.matrix.most)}`].join(" · ");
}

find("choices").addEventListener("submit", (event) => event.preventDefault());
find("look").addEventListener("change", (event) => choose({ look: Number(event.target.value) }));
find("closer").addEventListener("click", () => map.zoomBy(1.5));
find("farther").addEventListener("click", () => map.zoomBy(1 / 1.5));
find("fit").addEventListener("click", () => map.fit());
find("pin").addEventListener("click", () => pin(active()));
find("save").addEventListener("click", saveImage);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => point(state.cursor));
addEventListener("hashchange", () => {
  Object.assign(state, { pinned: null, cursor: null });
  readAddress();
  showAll();
});

if (trace.linked) addEventListener("message", ({ source, data }) => {
  if (source !== parent || typeof data?.saccade !== "string") return;
  Object.assign(state, { pinned: null, cursor: null });
  readAddress(data.saccade);
  showAll();
});

find("house").hidden = false;
find("first").remove();
readAddress();
showAll();
let width = map.canvas.parentElement.clientWidth;
new ResizeObserver(() => {
  if (drawn() || map.canvas.parentElement.clientWidth === width) return;
  width = map.canvas.parentElement.clientWidth;
  map.resize();
}).observe(map.canvas.parentElement);
requestAnimationFrame(() => requestAnimationFrame(() => {
  performance.mark("drawn");
  document.documentElement.dataset.drawn = "yes";
}));
