// Images in rows, each in a frame as thick and as strong as its weight.

function drawGallery({ look, matrix, names, labels, images }) {
  const weights = matrix.row(0), most = mostOf(weights), places = heaviest(weights, look.most);
  const rows = made("div", "", { class: "gallery", role: "group", "aria-label": "Images, framed by their weights" });
  rows.append(...places.map((place) => {
    const framed = piece("figure", "", 0, place, weights[place] / most, weights[place]), below = made("figcaption");
    below.append(made("b", number(weights[place])));
    if (labels[place]) below.append(made("bdi", labels[place]));
    framed.append(made("img", "", { alt: names[place], src: images[look.images[place]], class: look.crisp ? "crisp" : "" }), below);
    return framed;
  }));
  return { nodes: [rows], meaning: [`${leftOut(weights, places, "images")}The thickest frame is ${number(largest(weights))}.`] };
}

DRAWINGS.gallery = { view: "images", draw: drawGallery };
