// A flamegraph in its own SVG file: draws the boxes again for each zoom, and answers mouse and keys.
import { compile, duration, elide, layout, makeTree, matchShare, neighbour, percent, search } from "./layout.js";

const SVG = "http://www.w3.org/2000/svg";
const XHTML = "http://www.w3.org/1999/xhtml";
const THINNEST = 0.4; // pixels

const root = document.documentElement;
const data = JSON.parse(document.getElementById("data").textContent);
const { frames, strings, kinds, geometry } = data;
const tree = makeTree(frames, data.metric);
const drawing = document.getElementById("frames");
const header = document.getElementById("header");

let shown = new Map(); // box -> its element, for those drawn
const state = { focus: 0, history: [], selected: -1, matches: new Set(), pattern: "" };

const label = (box) => strings[frames.label[box]];
const file = (box) => strings[frames.file[box]];
const place = (box) => (file(box) ? `${file(box)}:${frames.line[box]}` : "");
const shortPlace = (box) => (file(box) ? `${strings[frames.short[box]]}:${frames.line[box]}` : "");
const kind = (box) => kinds[frames.kind[box]];

function make(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function makeHtml(name, attributes, ...children) {
  const element = document.createElementNS(XHTML, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// --- drawing -------------------------------------------------------------------------------

function draw() {
  const width = Math.max(320, root.clientWidth || window.innerWidth);
  const pixels = width - 2 * geometry.margin;
  const boxes = layout(tree, state.focus, pixels, THINNEST);
  const deepest = boxes.reduce((deep, { box }) => Math.max(deep, tree.depth[box]), 0);
  const height = geometry.top + (deepest + 1) * geometry.row + geometry.margin;
  root.setAttribute("width", "100%");
  root.setAttribute("height", Math.max(height, window.innerHeight));
  root.removeAttribute("viewBox");
  shown = new Map(boxes.map((placed) => [placed.box, drawBox(placed)]));
  drawing.replaceChildren(...shown.values());
  controls.place(width);
  back.disabled = state.focus === 0;
  showMatches();
  if (state.selected >= 0 && !element(state.selected)) select(-1);
}

function drawBox({ box, x, width, above }) {
  const left = geometry.margin + x;
  const top = geometry.top + tree.depth[box] * geometry.row;
  const waiting = data.metric === "wall" && frames.idle[box] * 2 >= frames.wall[box];
  const names = ["frame", kind(box), `j${frames.shade[box]}`];
  if (waiting) names.push("waiting");
  if (above) names.push("above");
  if (state.selected === box) names.push("selected");
  const shape = { x: left, y: top, width: Math.max(width - geometry.gap, 0.3), height: geometry.row - 1 };
  const group = make("g", { class: names.join(" "), "data-box": box }, make("rect", shape));
  if (waiting) group.append(make("rect", { class: "hatch", ...shape }));
  const words = elide(label(box), shortPlace(box), width - 8, characterWidth);
  if (words.label) {
    const text = make("text", { x: left + 4, y: top + geometry.baseline }, words.label);
    if (words.place) text.append(make("tspan", { class: "place" }, `  ${words.place}`));
    group.append(text);
  }
  return group;
}

const element = (box) => shown.get(box);

// Fonts differ: measure the one that was found.
function measureCharacter() {
  const probe = make("text", { x: 0, y: -100 }, "m".repeat(50));
  drawing.append(make("g", { class: "frame" }, probe));
  const measured = probe.getComputedTextLength() / 50;
  probe.parentNode.remove();
  return measured > 0 ? measured : geometry.character;
}

// --- zoom ----------------------------------------------------------------------------------

function zoom(box) {
  if (box === state.focus) return;
  state.history.push(state.focus);
  state.focus = box;
  hideTooltip();
  draw();
}

function zoomBack() {
  if (state.history.length === 0) return;
  state.focus = state.history.pop();
  hideTooltip();
  draw();
}

function resetZoom() {
  state.history = [];
  state.focus = 0;
  hideTooltip();
  draw();
}

// --- search --------------------------------------------------------------------------------

function searchFor(pattern) {
  state.pattern = pattern;
  state.matches = new Set();
  if (pattern) {
    const { expression } = compile(pattern);
    state.matches = new Set(search(tree, (box) => `${label(box)} ${place(box)}`, expression));
  }
  showMatches();
}

function showMatches() {
  drawing.classList.toggle("searching", state.matches.size > 0);
  for (const [box, group] of shown) group.classList.toggle("match", state.matches.has(box));
  if (!state.pattern) {
    result.textContent = "";
    return;
  }
  const literal = compile(state.pattern).literal ? ", taken literally" : "";
  const share = matchShare(tree, state.matches, state.focus);
  const whole = state.focus === 0 ? "of all" : "of this view";
  result.textContent = state.matches.size ? `${percent(share)} ${whole}${literal}` : `no match${literal}`;
}

function selectMatch(step) {
  const matches = [...state.matches].filter((box) => element(box));
  if (matches.length === 0) return;
  const at = matches.indexOf(state.selected);
  const next = at < 0 ? (step > 0 ? 0 : matches.length - 1) : (at + step + matches.length) % matches.length;
  select(matches[next]);
}

// --- selection and tooltip -----------------------------------------------------------------

function select(box) {
  element(state.selected)?.classList.remove("selected");
  state.selected = box;
  const chosen = element(box);
  if (!chosen) {
    hideTooltip();
    return;
  }
  chosen.classList.add("selected");
  bringIntoView(chosen);
  const area = chosen.firstChild.getBBox();
  showTooltip(box, area.x + Math.min(area.width / 2, 60), area.y + area.height + 4);
}

// The header stays in view and would cover the box that the browser scrolls to.
function bringIntoView(chosen) {
  const { top, bottom } = chosen.getBoundingClientRect();
  if (top < geometry.top) window.scrollBy(0, top - geometry.top - geometry.row);
  else if (bottom > window.innerHeight) window.scrollBy(0, bottom - window.innerHeight + 6 * geometry.row);
}

function describe(box) {
  const total = tree.width[0];
  const parent = tree.parent[box];
  const share = total > 0 ? tree.width[box] / total : 0;
  const parts = [`${percent(share)} of all`];
  if (parent >= 0 && tree.width[parent] > 0) parts.push(`${percent(tree.width[box] / tree.width[parent])} of its caller`);
  const waits = frames.idle[box] > 0 ? `, waiting ${duration(frames.idle[box])}` : "";
  return [
    label(box),
    place(box),
    `wall ${duration(frames.wall[box])}, CPU ${duration(frames.cpu[box])}${waits}`,
    parts.join(", "),
  ].filter(Boolean);
}

function showTooltip(box, x, y) {
  const lines = describe(box);
  const most = Math.max(20, Math.floor((root.clientWidth - 60) / 7));
  const texts = lines.map((line, row) =>
    make("text", { x: 10, y: 19 + row * 17, class: row === 0 ? "name" : row === 1 && place(box) ? "quiet" : "" }, cut(line, most)),
  );
  tooltip.replaceChildren(make("rect", { rx: 6 }), ...texts);
  tooltip.removeAttribute("display");
  const width = Math.max(...texts.map((text) => text.getComputedTextLength())) + 20;
  const height = lines.length * 17 + 12;
  tooltip.firstChild.setAttribute("width", width);
  tooltip.firstChild.setAttribute("height", height);
  const left = Math.max(4, Math.min(x, root.clientWidth - width - 4));
  const below = y + height < window.scrollY + window.innerHeight;
  const above = y - height - geometry.row - 12;
  const top = below || above < window.scrollY ? y : above;
  tooltip.setAttribute("transform", `translate(${left},${top})`);
  spoken.textContent = lines.join(", ");
}

function cut(text, most) {
  if (text.length <= most) return text;
  const tail = Math.floor((most - 1) / 2);
  return `${text.slice(0, most - 1 - tail)}…${text.slice(text.length - tail)}`;
}

function hideTooltip() {
  tooltip.setAttribute("display", "none");
}

// --- the controls --------------------------------------------------------------------------

const input = makeHtml("input", { type: "search", placeholder: "Search, press /", "aria-label": "Search frames by regular expression", spellcheck: "false" });
const result = makeHtml("output", { "aria-live": "polite" });
const back = makeHtml("button", { type: "button", title: "Show everything again (0)" }, "Reset zoom");
const spoken = makeHtml("span", { class: "spoken", "aria-live": "polite" });
const tooltip = make("g", { class: "tooltip", display: "none" });
const strip = make("foreignObject", { y: 8, height: 32 }, makeHtml("div", { class: "controls" }, spoken, result, input, back));
const controls = {
  place(width) {
    const wide = Math.min(520, width - 2 * geometry.margin);
    strip.setAttribute("x", width - geometry.margin - wide);
    strip.setAttribute("width", wide);
  },
};

function followScroll() {
  header.setAttribute("transform", `translate(0,${window.scrollY})`);
}

function boxAt(event) {
  const group = event.target.closest?.("[data-box]");
  return group ? Number(group.dataset.box) : -1;
}

function pressed(event) {
  if ((event.ctrlKey || event.metaKey) && event.key === "f" && document.activeElement !== input) {
    // A second Ctrl-F, from inside the field, is the browser's own.
    focusSearch(event);
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (document.activeElement === input) {
    pressedInSearch(event);
    return;
  }
  const action = keys[event.key];
  if (action) {
    event.preventDefault();
    action(event);
  }
}

function pressedInSearch(event) {
  if (event.key === "Escape") {
    input.value = "";
    input.blur();
    searchFor("");
  } else if (event.key === "Enter") {
    input.blur();
    selectMatch(1);
  }
}

function focusSearch(event) {
  event.preventDefault();
  input.focus();
  input.select();
}

function escape() {
  if (state.selected >= 0) select(-1);
  else if (state.history.length > 0) zoomBack();
  else if (state.pattern) {
    input.value = "";
    searchFor("");
  }
}

function walk(event) {
  select(state.selected < 0 ? state.focus : visibleNeighbour(event.key));
}

// Boxes too thin to be drawn are walked over.
function visibleNeighbour(key) {
  let box = state.selected;
  for (;;) {
    const next = neighbour(tree, box, key, state.focus);
    if (next === box) return state.selected;
    if (element(next)) return next;
    box = next;
  }
}

const keys = {
  "/": focusSearch,
  Escape: escape,
  Backspace: zoomBack,
  0: resetZoom,
  n: () => selectMatch(1),
  N: () => selectMatch(-1),
  Enter: () => state.selected >= 0 && zoom(state.selected),
  ArrowUp: walk,
  ArrowDown: walk,
  ArrowLeft: walk,
  ArrowRight: walk,
};

root.append(tooltip);
header.append(strip);
document.getElementById("hint").textContent = "Click or Enter: zoom. Esc: back. Arrows: walk. /: search, n: next match.";
const characterWidth = measureCharacter();

input.addEventListener("input", () => searchFor(input.value));
back.addEventListener("click", resetZoom);
drawing.addEventListener("click", (event) => boxAt(event) >= 0 && zoom(boxAt(event)));
drawing.addEventListener("mousemove", (event) => {
  const box = boxAt(event);
  if (box >= 0) showTooltip(box, event.clientX + 14, event.clientY + window.scrollY + 18);
});
drawing.addEventListener("mouseleave", hideTooltip);
document.addEventListener("keydown", pressed);
window.addEventListener("scroll", followScroll);
window.addEventListener("resize", draw);
draw();
