// What each head attends to: a grid of layers and heads, colored by one measure; a click opens the head.

const CELL_LARGEST = 34, CELL_SMALLEST = 12, LISTED = 8;
let shownMeasure = null;  // stays while heads are opened and left again

function drawHeadGrid({ scene, open, current, ramps }) {
  const { about, stacks } = scene.heads, names = [...new Set(stacks.flatMap(({ values }) => Object.keys(values)))];
  const drawing = made("div", "", { class: "head-grid" }), choice = made("fieldset", "", { class: "options" }), shown = made("div");
  const told = made("p", "", { class: "told", role: "status", "aria-live": "polite" });
  choice.append(made("legend", "measure"), ...names.map((name) => option("measure", name, false, () => show(name))));
  const tell = (stack, row, head) => {
    const numbers = Object.keys(stack.values).map((name) => `${name} ${shortly(stack.values[name][row][head])}`);
    told.replaceChildren(made("b", `${stack.layers[row]}.${head}`), ` ${numbers.join(" · ")}`);
  };
  const button = (stack, row, head, kind) => {
    const index = stack.looks[row], alone = scene.looks[index].weights.length === 1;
    const one = made("button", "", { type: "button", class: kind, "aria-label": `layer ${stack.layers[row]}, head ${head}: ${shortly(stack.values[shownMeasure][row][head])}` });
    if (current.look === index && current.head === head) one.setAttribute("aria-current", "true");
    one.addEventListener("click", () => open(index, alone ? null : head));
    for (const event of ["pointerenter", "focus"]) one.addEventListener(event, () => tell(stack, row, head));
    return one;
  };
  const show = (name) => {
    shownMeasure = name;
    for (const input of choice.querySelectorAll("input")) input.checked = input.value === name;
    told.replaceChildren(made("span", `${name}: ${about[name]}. Point at a cell to read its head.`, { class: "quiet" }));
    shown.replaceChildren(...stacks.filter(({ values }) => name in values).map((stack) => stackGrid(stack, name, ramps.plain, button)));
  };
  drawing.append(choice, told, shown);
  show(names.includes(shownMeasure) ? shownMeasure : names[0]);
  return { nodes: [drawing], meaning: ["Down: layers from 1. Across: heads from 0. Shares of weight are all on one scale from 0. Click a head to open it."] };
}

function stackGrid(stack, measure, colors, button) {
  const values = stack.values[measure], most = stack.most[measure], heads = values[0].length;
  const section = made("section", "", { class: "look" }), name = made("h4"), grid = made("div", "", { class: "grid" });
  const room = find("drawing").clientWidth - 40, cell = Math.max(CELL_SMALLEST, Math.min(CELL_LARGEST, Math.floor(room / heads)));
  grid.style.gridTemplateColumns = `24px repeat(${heads}, ${cell}px)`;
  grid.style.gridAutoRows = `${cell}px`;
  const every = Math.ceil(18 / cell);
  grid.append(made("span"), ...Array.from({ length: heads }, (_, head) => made("small", head % every ? "" : head)));
  values.forEach((row, number) => {
    grid.append(made("small", stack.layers[number]));
    row.forEach((value, head) => {
      const one = value === null ? made("span") : button(stack, number, head, "cell"), bytes = colors[Math.round(255 * Math.max(0, Math.min(1, (value ?? 0) / most)))];
      if (value !== null) one.style.backgroundColor = `rgb(${bytes & 255} ${(bytes >> 8) & 255} ${(bytes >> 16) & 255})`;
      grid.append(one);
    });
  });
  const order = values.flatMap((row, number) => row.map((value, head) => ({ value, number, head }))).filter(({ value }) => value !== null);
  order.sort((one, other) => other.value - one.value);
  const list = made("p", "", { class: "most" });
  list.append(made("span", "most: ", { class: "quiet" }), ...order.slice(0, LISTED).map(({ value, number, head }) => {
    const one = button(stack, number, head, "named");
    one.append(made("b", `${stack.layers[number]}.${head}`), ` ${shortly(value)}`);
    return one;
  }));
  name.append(made("bdi", stack.name));
  section.append(name, grid, list);
  return section;
}

const shortly = (value) => (value === null ? "–" : value < 10 ? value.toFixed(3) : value.toFixed(1));

DRAWINGS.head_grid = { view: "heads", draw: drawHeadGrid, wide: true, whole: true };
