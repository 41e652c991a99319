// What the colours of a flamegraph mean, as a row of swatches with words.

import { legendOf } from "./colours.js";
import { make as makeHtml } from "./elements.js";
import { make } from "./svgnodes.js";

export function drawLegend(container, tree, colours) {
  container.replaceChildren(...legendOf(tree, colours).map(entry));
}

function entry({ names, text }) {
  const shape = { width: 14, height: 12 };
  const box = make("g", { class: `frame ${names}` }, make("rect", shape));
  if (names.endsWith(" waiting")) box.append(make("rect", { class: "hatch", ...shape }));
  return makeHtml("span", { class: "legend-entry" }, make("svg", { class: "flamegraph swatch", "aria-hidden": "true", ...shape }, box), text);
}
