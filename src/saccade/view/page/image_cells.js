// The same as image_steps, each cell of one brightness.

DRAWINGS.image_cells = { view: "cells", draw: (given) => drawImageSteps(given, true), wide: true };
