// The flamegraph: draws a tree of layout.js into an <svg> again for each zoom, and answers mouse and keys.
// One engine for the page, the standalone SVG file and comparisons.
//
// Boxes with room for a name are elements; narrower ones are drawn as one path for each colour, and
// found by where they lie. All that is seen of both is in `placed`.

import { classOf } from "./colours.js";
import { boxAtPath, boxInRow, compile, describe, elide, layout, matchShare, neighbour, pathOf, rows, search } from "./layout.js";
import { drawLegend } from "./legend.js";
import { make } from "./svgnodes.js";
import { outlines } from "./thinboxes.js";
import { createTooltip } from "./tooltip.js";

const THINNEST = 0.5; // pixels
const NARROWEST_ELEMENT = 24; // pixels: no name fits into less
const MOST_ELEMENTS = 2000; // more take longer than a tenth of a second
const REACH = 2; // pixels beside a thin box that still point at it
const INSET = 4;
const GEOMETRY = { margin: 0, top: 0, row: 18, baseline: 12.5, gap: 0.6, character: 6.95 };
const NOTHING_FOUND = { share: 0, count: 0, literal: false, pattern: "" };

const nothing = () => {};

// Options: geometry, colours, describe(box, tree), keyboard (element, or null), viewport (the element that
// scrolls), legend and announcer (HTML elements), label, frames (a <g> to draw into), height(pixels),
// onZoom(box), onSelect(box), onMatches({share, count, literal, pattern}), onSearchKey(), onSearchCleared().
export function createFlamegraph(svg, options = {}) {
  const geometry = { ...GEOMETRY, ...options.geometry };
  const says = options.describe ?? ((box, tree) => describe(tree, box));
  const { onZoom = nothing, onSelect = nothing, onMatches = nothing, onSearchKey = nothing, onSearchCleared = nothing } = options;
  const keyboard = options.keyboard === undefined ? svg : options.keyboard;
  const frames = options.frames ?? make("g", {});
  const thin = make("g", { class: "thin" });
  const marks = make("g", { class: "marks" });
  const outline = make("path", { class: "highlighted" });
  const tooltip = createTooltip(visibleArea);
  const watcher = new ResizeObserver(() => svg.getBoundingClientRect().width !== drawnWidth && redraw());

  let tree = null;
  let colours = options.colours ?? "package";
  let focus = 0;
  let history = [];
  let selected = -1;
  let hovered = -1;
  let highlighted = [];
  let found = NOTHING_FOUND;
  let matches = [];
  let isMatch = new Uint8Array(0);
  let placed = new Map(); // box -> {box, x, width}, for those that are drawn
  let placedRows = [];
  let elements = new Map(); // box -> its element, for those that have one
  let drawnWidth = 0;
  let characterWidth = 0;

  setUp();

  // --- drawing -----------------------------------------------------------------------------

  function redraw() {
    const width = svg.getBoundingClientRect().width;
    if (tree === null || width <= 0) return;
    drawnWidth = width;
    characterWidth ||= measureCharacter();
    const boxes = layout(tree, focus, width - 2 * geometry.margin, THINNEST);
    placed = new Map(boxes.map((it) => [it.box, it]));
    placedRows = rows(tree, boxes);
    const height = geometry.top + placedRows.length * geometry.row + geometry.margin;
    svg.setAttribute("height", options.height ? options.height(height) : height);
    elements = new Map(withRoomForNames(boxes).map((it) => [it.box, drawBox(it)]));
    frames.replaceChildren(...elements.values());
    if (selected >= 0 && !placed.has(selected)) select(-1);
    hover(-1);
    showMatches();
    drawMarks();
    drawHighlights();
  }

  function withRoomForNames(boxes) {
    const wide = boxes.filter(({ width }) => width >= NARROWEST_ELEMENT);
    if (wide.length <= MOST_ELEMENTS) return wide;
    return wide.sort((one, other) => other.width - one.width).slice(0, MOST_ELEMENTS);
  }

  function drawBox(it) {
    const { box, width, above } = it;
    const names = ["frame", classOf(tree, box, colours)];
    if (above) names.push("above");
    if (selected === box) names.push("selected");
    const shape = shapeOf(it);
    const group = make("g", { class: names.join(" "), "data-box": box }, make("rect", shape));
    if (names[1].endsWith(" waiting")) group.append(make("rect", { class: "hatch", ...shape }));
    const words = elide(tree.text(box), tree.shortPlace(box), width - 2 * INSET, characterWidth);
    if (words.label) {
      const text = make("text", { x: shape.x + INSET, y: shape.y + geometry.baseline }, words.label);
      if (words.place) text.append(make("tspan", { class: "place" }, `  ${words.place}`));
      group.append(text);
    }
    return group;
  }

  function shapeOf({ box, x, width }) {
    const top = geometry.top + tree.depth[box] * geometry.row;
    return { x: geometry.margin + x, y: top, width: Math.max(width - geometry.gap, 0.3), height: geometry.row - 1 };
  }

  function drawThin() {
    const narrow = placedRows.map((row) => row.filter(({ box }) => !elements.has(box)));
    const namesOf = (box) => `${classOf(tree, box, colours)}${isMatch[box] ? " match" : ""}`;
    const groups = [];
    for (const [names, d] of outlines(narrow, namesOf, geometry)) {
      const group = make("g", { class: `frame ${names}` }, make("path", { d }));
      if (names.includes("waiting")) group.append(make("path", { class: "hatch", d }));
      groups.push(group);
    }
    thin.replaceChildren(...groups);
  }

  // Outlines of boxes that have no element of their own.
  function drawMarks() {
    const mark = (box, names) => make("rect", { class: names, ...shapeOf(placed.get(box)) });
    const shown = [];
    if (placed.has(hovered) && !elements.has(hovered)) shown.push(mark(hovered, "hovered"));
    if (placed.has(selected) && !elements.has(selected)) shown.push(mark(selected, "selected"));
    marks.replaceChildren(...shown);
  }

  function drawHighlights() {
    const shapes = highlighted.filter((box) => placed.has(box)).map((box) => shapeOf(placed.get(box)));
    outline.setAttribute("d", shapes.map(({ x, y, width, height }) => `M${x.toFixed(1)} ${y}h${width.toFixed(1)}v${height}h-${width.toFixed(1)}z`).join(""));
  }

  // Fonts differ: measure the one that was found.
  function measureCharacter() {
    const probe = make("g", { class: "frame" }, make("text", { x: 0, y: -100 }, "m".repeat(50)));
    frames.append(probe);
    const measured = probe.firstChild.getComputedTextLength() / 50;
    probe.remove();
    return measured > 0 ? measured : geometry.character;
  }

  // --- what is shown -----------------------------------------------------------------------

  function show(next, { keepFocus = false } = {}) {
    const before = keepFocus && tree !== null ? tree : null;
    const again = (box) => (before ? boxAtPath(next, pathOf(before, box)) : 0);
    focus = again(focus);
    history = before ? history.map(again).filter((box, at, all) => box !== (all[at + 1] ?? focus)) : [];
    selected = selected > 0 && before ? again(selected) : -1;
    highlighted = [];
    tree = next;
    findMatches();
    tooltip.hide();
    if (options.legend) drawLegend(options.legend, tree, colours);
    redraw();
    onZoom(focus);
  }

  function setColours(name) {
    colours = name;
    if (options.legend && tree !== null) drawLegend(options.legend, tree, colours);
    redraw();
  }

  function focusOn(box) {
    focus = box;
    tooltip.hide();
    redraw();
    onZoom(focus);
  }

  function zoomTo(box) {
    if (box === focus) return;
    history.push(focus);
    focusOn(box);
  }

  function zoomOut() {
    if (history.length === 0) return false;
    focusOn(history.pop());
    return true;
  }

  function reset() {
    history = [];
    focusOn(0);
  }

  function highlight(boxes) {
    highlighted = [...boxes];
    drawHighlights();
  }

  function state() {
    return { focus, selected, pattern: found.pattern, canGoBack: history.length > 0, colours, path: tree ? pathOf(tree, focus) : [] };
  }

  // --- search ------------------------------------------------------------------------------

  function searchFor(pattern) {
    found = { ...NOTHING_FOUND, pattern };
    findMatches();
    showMatches();
    return found;
  }

  function findMatches() {
    const { expression, literal } = compile(found.pattern);
    matches = found.pattern && tree ? search(tree, expression) : [];
    isMatch = new Uint8Array(tree?.count ?? 0);
    for (const box of matches) isMatch[box] = 1;
    found = { ...found, literal: literal && found.pattern !== "", count: matches.length };
  }

  function showMatches() {
    if (tree === null) return;
    for (const [box, group] of elements) group.classList.toggle("match", isMatch[box] === 1);
    for (const layer of [frames, thin]) layer.classList.toggle("searching", matches.length > 0);
    drawThin();
    found = { ...found, share: matches.length ? matchShare(tree, matches, focus) : 0 };
    onMatches(found);
  }

  function nextMatch(step) {
    const drawn = matches.filter((box) => placed.has(box));
    if (drawn.length === 0) return;
    const at = drawn.indexOf(selected);
    const next = at < 0 ? (step > 0 ? 0 : drawn.length - 1) : (at + step + drawn.length) % drawn.length;
    select(drawn[next]);
  }

  // --- selection and tooltip ---------------------------------------------------------------

  function select(box) {
    elements.get(selected)?.classList.remove("selected");
    selected = placed.has(box) ? box : -1;
    elements.get(selected)?.classList.add("selected");
    drawMarks();
    onSelect(selected);
    if (selected < 0) {
      tooltip.hide();
      return;
    }
    const { x, y, width, height } = shapeOf(placed.get(selected));
    bringIntoView(y, height);
    tell(selected, x + Math.min(width / 2, 60), y + height + 4, height + 8);
    if (options.announcer) options.announcer.textContent = says(selected, tree).join(", ");
  }

  function tell(box, x, y, clear) {
    tooltip.show(says(box, tree), tree.place(box) !== "", x, y, clear);
  }

  // What can be seen of the drawing, in its own pixels.
  function visibleArea() {
    const drawing = svg.getBoundingClientRect();
    const part = options.viewport?.getBoundingClientRect() ?? { left: 0, top: 0, right: Infinity, bottom: Infinity };
    const page = document.documentElement;
    return {
      left: Math.max(part.left, 0) - drawing.left,
      top: Math.max(part.top, 0) - drawing.top,
      right: Math.min(part.right, page.clientWidth || window.innerWidth) - drawing.left,
      bottom: Math.min(part.bottom, window.innerHeight) - drawing.top,
    };
  }

  // A header of the file, `geometry.top` high, stays in view above the boxes.
  function bringIntoView(y, height) {
    const seen = visibleArea();
    const scroller = options.viewport ?? window;
    const first = seen.top + geometry.top;
    if (y < first) scroller.scrollBy(0, y - first - geometry.row);
    else if (y + height > seen.bottom) scroller.scrollBy(0, y + height - seen.bottom + 6 * geometry.row);
  }

  // --- mouse -------------------------------------------------------------------------------

  function boxAt(event) {
    const drawing = svg.getBoundingClientRect();
    const row = Math.floor((event.clientY - drawing.top - geometry.top) / geometry.row);
    return placedRows[row] ? boxInRow(placedRows[row], event.clientX - drawing.left - geometry.margin, REACH) : -1;
  }

  function clicked(event) {
    const box = boxAt(event);
    if (box >= 0) zoomTo(box);
  }

  function moved(event) {
    const box = boxAt(event);
    hover(box);
    if (box < 0) return;
    const drawing = svg.getBoundingClientRect();
    tell(box, event.clientX - drawing.left + 14, event.clientY - drawing.top + 18, geometry.row + 12);
  }

  function left() {
    hover(-1);
    tooltip.hide();
  }

  function hover(box) {
    if (hovered === box) return;
    hovered = box;
    drawMarks();
  }

  // --- keys --------------------------------------------------------------------------------

  function escape() {
    if (selected >= 0) select(-1);
    else if (highlighted.length > 0) highlight([]);
    else if (zoomOut()) return true;
    else if (found.pattern) {
      searchFor("");
      onSearchCleared();
    } else return false;
    return true;
  }

  function walk(key) {
    select(selected < 0 ? focus : visibleNeighbour(key));
  }

  // Boxes too thin to be drawn are walked over.
  function visibleNeighbour(key) {
    let box = selected;
    for (;;) {
      const next = neighbour(tree, box, key, focus);
      if (next === box) return selected;
      if (placed.has(next)) return next;
      box = next;
    }
  }

  const keys = {
    "/": () => onSearchKey(),
    Escape: escape,
    Backspace: () => zoomOut(),
    0: () => reset(),
    n: () => nextMatch(1),
    N: () => nextMatch(-1),
    Enter: () => selected >= 0 && zoomTo(selected),
    ArrowUp: walk,
    ArrowDown: walk,
    ArrowLeft: walk,
    ArrowRight: walk,
  };

  // Whether the key meant something here; then nothing else should act on it.
  function press(event) {
    if (tree === null || event.ctrlKey || event.metaKey || event.altKey) return false;
    const action = Object.hasOwn(keys, event.key) ? keys[event.key] : null;
    if (!action || action(event.key) === false) return false;
    event.preventDefault();
    return true;
  }

  // --- from beginning to end ---------------------------------------------------------------

  function setUp() {
    svg.classList.add("flamegraph");
    svg.setAttribute("role", "application");
    if (options.label) svg.setAttribute("aria-label", options.label);
    if (!svg.querySelector("#hatch")) svg.prepend(hatching());
    if (!frames.parentNode) svg.append(frames);
    frames.before(thin);
    frames.after(make("g", { class: "marks" }, outline), marks);
    svg.append(tooltip.group); // last: above all else
    keyboard?.setAttribute("tabindex", "0");
    keyboard?.addEventListener("keydown", press);
    for (const layer of [frames, thin]) {
      layer.addEventListener("click", clicked);
      layer.addEventListener("mousemove", moved);
      layer.addEventListener("mouseleave", left);
    }
    watcher.observe(svg);
  }

  function hatching() {
    const line = make("line", { class: "hatching", y2: 6 });
    const turned = { patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" };
    return make("defs", {}, make("pattern", { id: "hatch", width: 6, height: 6, ...turned }, line));
  }

  function destroy() {
    watcher.disconnect();
    keyboard?.removeEventListener("keydown", press);
    for (const layer of [frames, thin, marks, outline.parentNode, tooltip.group]) layer.remove();
  }

  return { show, zoomTo, zoomOut, reset, select, search: searchFor, nextMatch, highlight, setColours, redraw, state, press, destroy };
}
