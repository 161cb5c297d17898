// A story as a table: a row for each statement, a column of weights for each time that it was read.

function drawStatements({ look, matrix, names, rows, axes }) {
  const supporting = new Set(axes.keys.marked ?? []), sizes = names.map((_, place) => largest(rows.map((_, row) => matrix.value(row, place))));
  const places = heaviest(sizes.map((size, place) => (supporting.has(place) ? Infinity : size)), look.most), most = mostOf(sizes);
  const table = made("table", "", { class: "statements" }), head = made("tr");
  head.append(made("td"), made("th", "statement", { scope: "col" }), ...rows.map((name) => made("th", name, { scope: "col" })));
  table.append(head, ...places.map((place) => {
    const line = made("tr"), mark = made("td", supporting.has(place) ? "●" : "", supporting.has(place) ? { class: "supporting", title: "a supporting fact" } : {});
    const told = made("th", "", { scope: "row" });
    told.append(made("bdi", names[place]));
    line.append(mark, told, ...rows.map((_, row) => {
      const weight = matrix.value(row, place);
      return piece("td", Math.abs(weight) < 0.005 ? "" : weight.toFixed(2), row, place, weight / most, weight);
    }));
    return line;
  }));
  const marks = supporting.size ? "● a supporting fact. " : "";
  return { nodes: [table], meaning: [`${marks}${leftOut(sizes, places, "statements")}`] };
}

DRAWINGS.statement_table = { view: "table", draw: drawStatements };
