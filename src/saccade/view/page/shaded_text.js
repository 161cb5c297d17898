// A text with its words shaded by their weights; the sentences of a document stand on lines of their own, behind marks.

function drawText({ look, matrix, names, scene, head, axes }) {
  const whose = look.sentences ?? names.map(() => 0);
  const above = look.above == null ? null : scene.looks[look.above];
  const same = above && above.weights.length === look.weights.length;
  const sentences = above && new Matrix(above, above.weights.length === 1 ? 0 : same ? head : null).row(0);
  const factor = (row) => (sentences ? Math.sqrt(Math.max(0, sentences[row])) : 1);  // Yang et al. 2016, figure 5
  const weights = names.map((_, word) => matrix.value(whose[word], word));
  const signed = matrix.signed, shades = weights.map((weight, word) => (signed ? Math.abs(weight) : Math.max(0, weight)) * factor(whose[word])), most = mostOf(shades);
  const lines = Array.from({ length: look.sentences ? matrix.rows : 1 }, (_, row) => {
    const line = made("p", "", { class: "sentence" }), words = made("span", "", { dir: "auto", class: "words" });
    if (sentences) {
      const mark = made("b", "", { class: "mark", role: "img", "aria-label": `sentence weight ${number(sentences[row])}`, title: number(sentences[row]) });
      mark.style.setProperty("--share", shareOf(sentences[row] / mostOf(sentences)));
      line.append(mark);
    }
    line.append(words);
    return line;
  });
  names.forEach((name, word) => {
    const shown = marked(piece("i", name, whose[word], word, shades[word] / most, weights[word]), axes.keys, word);
    if (signed) shown.classList.add(weights[word] < 0 ? "below" : "above");
    lines[whose[word]].lastChild.append(shown, " ");
  });
  const text = made("div", "", { class: "text", role: "group", "aria-label": "Text, its words shaded by their weights" });
  text.append(...lines);
  const told = `${names.length} words; largest weight ${number(largest(weights))}${signed ? "; red raised the output, blue lowered it" : ""}`;
  if (!sentences) return { nodes: [text], meaning: [`${told}.`] };
  return { nodes: [text], meaning: [
    `${told}, of a sentence ${number(largest(sentences))}. Mark: the sentence’s weight. Shade: the word’s weight times √(its sentence’s).`,
  ] };
}

DRAWINGS.shaded_text = { view: "text", draw: drawText };
