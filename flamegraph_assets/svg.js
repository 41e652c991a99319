// The host of a flamegraph in an SVG file of its own: its controls, its header, its keys.
import { button, make as makeHtml } from "./elements.js";
import { percent } from "./figures.js";
import { createFlamegraph } from "./flamegraph.js";
import { makeTree } from "./layout.js";
import { make } from "./svgnodes.js";

const NARROWEST = 320; // pixels

const root = document.documentElement;
const { columns, geometry, ...view } = JSON.parse(document.getElementById("data").textContent);
const header = document.getElementById("header");

// --- the controls --------------------------------------------------------------------------

const input = makeHtml("input", { type: "search", placeholder: "Search, press /", "aria-label": "Search frames by regular expression", spellcheck: "false" });
const result = makeHtml("output", { "aria-live": "polite" });
const back = button("Reset zoom", { title: "Show everything again (0)" }, () => graph.reset());
const spoken = makeHtml("span", { class: "spoken", "aria-live": "polite" });
const strip = make("foreignObject", { y: 8, height: 32 }, makeHtml("div", { class: "controls" }, spoken, result, input, back));

function placeControls() {
  const width = Math.max(NARROWEST, root.clientWidth || window.innerWidth);
  const wide = Math.min(520, width - 2 * geometry.margin);
  strip.setAttribute("x", width - geometry.margin - wide);
  strip.setAttribute("width", wide);
}

function tellMatches({ share, count, literal, pattern }) {
  const { focus } = graph.state();
  const words = count > 0 ? `${percent(share)} ${focus === 0 ? "of all" : "of this view"}` : "no match";
  result.textContent = pattern ? `${words}${literal ? ", taken literally" : ""}` : "";
}

function focusSearch() {
  input.focus();
  input.select();
}

// --- keys ----------------------------------------------------------------------------------

function pressed(event) {
  if (document.activeElement === input) pressedInSearch(event);
  else if ((event.ctrlKey || event.metaKey) && event.key === "f") {
    // A second Ctrl-F, from inside the field, is the browser's own.
    event.preventDefault();
    focusSearch();
  } else graph.press(event);
}

function pressedInSearch(event) {
  if (event.key === "Escape") {
    input.value = "";
    input.blur();
    graph.search("");
  } else if (event.key === "Enter") {
    input.blur();
    graph.nextMatch(1);
  }
}

function followScroll() {
  header.setAttribute("transform", `translate(0,${window.scrollY})`);
}

root.setAttribute("width", "100%");
root.removeAttribute("viewBox");
header.append(strip);
const graph = createFlamegraph(root, {
  geometry,
  colours: view.colours,
  frames: document.getElementById("frames"),
  height: (pixels) => Math.max(pixels, window.innerHeight),
  keyboard: null,
  announcer: spoken,
  onZoom: (box) => (back.disabled = box === 0),
  onMatches: tellMatches,
  onSearchKey: focusSearch,
  onSearchCleared: () => (input.value = ""),
});
document.getElementById("hint").textContent = "Click or Enter: zoom. Esc: back. Arrows: walk. /: search, n: next match.";

input.addEventListener("input", () => graph.search(input.value));
document.addEventListener("keydown", pressed);
window.addEventListener("scroll", followScroll);
window.addEventListener("resize", placeControls);
placeControls();
graph.show(makeTree(columns, view));
