// The boxes of a flamegraph as they stand in its <svg>: drawn again for each zoom, marked in place.
//
// Boxes with room for a name are elements; narrower ones are drawn as one path for each colour, and
// found by where they lie. All that is seen of both is in `placed`.
import { classOf } from "./colours.js";
import { boxInRow, elide, layout, rows } from "./layout.js";
import { make } from "./svgnodes.js";
import { outlines } from "./thinboxes.js";

const THINNEST = 0.5; // pixels
const NARROWEST_ELEMENT = 24; // pixels: no name fits into less
const MOST_ELEMENTS = 2000; // more take longer than a tenth of a second
const REACH = 2; // pixels beside a thin box that still point at it
const INSET = 4;

// `shown` is {tree, focus, colours}; `height(pixels)` is how high the drawing is to be for that many.
export function createDrawing(svg, shown, { geometry, frames, height }) {
  const thin = make("g", { class: "thin" });
  const marks = make("g", { class: "marks" });
  const outline = make("path", { class: "highlighted" });
  const layers = [thin, frames, make("g", { class: "marks" }, outline), marks];

  let placed = new Map(); // box -> {box, x, width}, for those that are drawn
  let placedRows = [];
  let elements = new Map(); // box -> its element, for those that have one
  let isMatch = new Uint8Array(0);
  let selected = -1;
  let highlighted = [];
  let drawnWidth = 0;
  let characterWidth = 0;

  svg.classList.add("flamegraph");
  if (!svg.querySelector("#hatch")) svg.prepend(hatching());
  if (!frames.parentNode) svg.append(frames);
  frames.before(thin);
  frames.after(...layers.slice(2));

  // Whether there was room to draw in; an <svg> that is hidden has none.
  function draw() {
    const width = svg.getBoundingClientRect().width;
    if (shown.tree === null || width <= 0) return false;
    drawnWidth = width;
    characterWidth ||= measureCharacter();
    const boxes = layout(shown.tree, shown.focus, width - 2 * geometry.margin, THINNEST);
    placed = new Map(boxes.map((it) => [it.box, it]));
    placedRows = rows(shown.tree, boxes);
    svg.setAttribute("height", height(geometry.top + placedRows.length * geometry.row + geometry.margin));
    elements = new Map(withRoomForNames(boxes).map((it) => [it.box, drawBox(it)]));
    frames.replaceChildren(...elements.values());
    drawHighlights();
    return true;
  }

  function drawBox({ box, width, above }) {
    const { tree, colours } = shown;
    const names = classOf(tree, box, colours);
    const shape = shapeOf(box);
    const group = make("g", { class: `frame ${names}${above ? " above" : ""}`, "data-box": box }, make("rect", shape));
    if (names.endsWith(" waiting")) group.append(make("rect", { class: "hatch", ...shape }));
    const words = elide(tree.text(box), tree.shortPlace(box), width - 2 * INSET, characterWidth);
    if (words.label) {
      const text = make("text", { x: shape.x + INSET, y: shape.y + geometry.baseline }, words.label);
      if (words.place) text.append(make("tspan", { class: "place" }, `  ${words.place}`));
      group.append(text);
    }
    return group;
  }

  function shapeOf(box) {
    const { x, width } = placed.get(box);
    const top = geometry.top + shown.tree.depth[box] * geometry.row;
    return { x: geometry.margin + x, y: top, width: Math.max(width - geometry.gap, 0.3), height: geometry.row - 1 };
  }

  function drawThin() {
    const narrow = placedRows.map((row) => row.filter(({ box }) => !elements.has(box)));
    const namesOf = (box) => `${classOf(shown.tree, box, shown.colours)}${isMatch[box] ? " match" : ""}`;
    const groups = [];
    for (const [names, d] of outlines(narrow, namesOf, geometry)) {
      const group = make("g", { class: `frame ${names}` }, make("path", { d }));
      if (names.includes("waiting")) group.append(make("path", { class: "hatch", d }));
      groups.push(group);
    }
    thin.replaceChildren(...groups);
  }

  // `matching` has 1 for each box that matches.
  function showMatches(matching, isAny) {
    isMatch = matching;
    for (const [box, group] of elements) group.classList.toggle("match", isMatch[box] === 1);
    for (const layer of [frames, thin]) layer.classList.toggle("searching", isAny);
    drawThin();
  }

  // Boxes that have no element of their own get an outline.
  function mark(box, hovered) {
    elements.get(selected)?.classList.remove("selected");
    selected = box;
    elements.get(selected)?.classList.add("selected");
    const isThin = (it) => placed.has(it) && !elements.has(it);
    const outlined = [[hovered, "hovered"], [selected, "selected"]].filter(([it]) => isThin(it));
    marks.replaceChildren(...outlined.map(([it, names]) => make("rect", { class: names, ...shapeOf(it) })));
  }

  function highlight(boxes) {
    highlighted = [...boxes];
    drawHighlights();
  }

  function drawHighlights() {
    const shapes = highlighted.filter((box) => placed.has(box)).map(shapeOf);
    outline.setAttribute("d", shapes.map(({ x, y, width, height: high }) => `M${x.toFixed(1)} ${y}h${width.toFixed(1)}v${high}h-${width.toFixed(1)}z`).join(""));
  }

  // The box that the mouse points at; -1 for none.
  function boxAt({ clientX, clientY }) {
    const { left, top } = svg.getBoundingClientRect();
    const row = placedRows[Math.floor((clientY - top - geometry.top) / geometry.row)];
    return row ? boxInRow(row, clientX - left - geometry.margin, REACH) : -1;
  }

  // Fonts differ: measure the one that was found.
  function measureCharacter() {
    const probe = make("g", { class: "frame" }, make("text", { x: 0, y: -100 }, "m".repeat(50)));
    frames.append(probe);
    const measured = probe.firstChild.getComputedTextLength() / 50;
    probe.remove();
    return measured > 0 ? measured : geometry.character;
  }

  return {
    draw, showMatches, mark, highlight, boxAt, shapeOf,
    has: (box) => placed.has(box),
    hasHighlights: () => highlighted.length > 0,
    isOfWidth: (width) => width === drawnWidth,
    pointed: [frames, thin], // the layers that the mouse can point at
    remove: () => layers.forEach((layer) => layer.remove()),
  };
}

function withRoomForNames(boxes) {
  const wide = boxes.filter(({ width }) => width >= NARROWEST_ELEMENT);
  if (wide.length <= MOST_ELEMENTS) return wide;
  return wide.sort((one, other) => other.width - one.width).slice(0, MOST_ELEMENTS);
}

function hatching() {
  const line = make("line", { class: "hatching", y2: 6 });
  const turned = { patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" };
  return make("defs", {}, make("pattern", { id: "hatch", width: 6, height: 6, ...turned }, line));
}
