// The flamegraph: one engine for the page, the standalone SVG file and comparisons. It draws a tree of
// layout.js into an <svg>, and answers mouse and keys; its parts share what is `shown`.

import { createDrawing } from "./drawing.js";
import { answerKeys } from "./keys.js";
import { boxAtPath, describe, pathOf } from "./layout.js";
import { drawLegend } from "./legend.js";
import { createMatches } from "./matches.js";
import { createSelection } from "./selection.js";
import { make } from "./svgnodes.js";
import { createZoomHistory } from "./zoomhistory.js";

const GEOMETRY = { margin: 0, top: 0, row: 18, baseline: 12.5, gap: 0.6, character: 6.95 };

const nothing = () => {};

// Options: geometry, colours, describe(box, tree), keyboard (element, or null), viewport (the element that
// scrolls), legend and announcer (HTML elements), label, frames (a <g> to draw into), height(pixels),
// onZoom(box), onSelect(box), onMatches({share, count, literal, pattern}), onSearchKey(), onSearchCleared().
export function createFlamegraph(svg, options = {}) {
  const { viewport, announcer, legend, label, height = (pixels) => pixels, frames = make("g", {}) } = options;
  const { onZoom = nothing, onSelect = nothing, onMatches = nothing, onSearchKey = nothing, onSearchCleared = nothing } = options;
  const geometry = { ...GEOMETRY, ...options.geometry };
  const says = options.describe ?? ((box, tree) => describe(tree, box));
  const keyboard = options.keyboard === undefined ? svg : options.keyboard;

  const shown = { tree: null, focus: 0, colours: options.colours ?? "package" };
  const drawing = createDrawing(svg, shown, { geometry, frames, height });
  const selection = createSelection(svg, shown, drawing, { geometry, viewport, announcer, says, onSelect });
  const matches = createMatches(shown, drawing, onMatches);
  const zoom = createZoomHistory(shown, zoomed);
  const press = answerKeys(shown, { zoom, selection, drawing, matches, nextMatch, onSearchKey, onSearchCleared });
  const watcher = new ResizeObserver(() => drawing.isOfWidth(svg.getBoundingClientRect().width) || redraw());
  const listeners = { click: clicked, mousemove: selection.point, mouseleave: selection.leave };

  svg.setAttribute("role", "application");
  if (label) svg.setAttribute("aria-label", label);
  keyboard?.setAttribute("tabindex", "0");
  keyboard?.addEventListener("keydown", press);
  for (const layer of drawing.pointed) for (const [name, listener] of Object.entries(listeners)) layer.addEventListener(name, listener);
  watcher.observe(svg);

  function redraw() {
    if (!drawing.draw()) return;
    selection.renew();
    matches.draw();
  }

  function show(next, { keepFocus = false } = {}) {
    const before = keepFocus ? shown.tree : null;
    const again = before && ((box) => boxAtPath(next, pathOf(before, box)));
    zoom.follow(again);
    selection.follow(again);
    drawing.highlight([]);
    shown.tree = next;
    matches.find();
    showLegend();
    redraw();
    onZoom(shown.focus);
  }

  function showLegend() {
    if (legend && shown.tree !== null) drawLegend(legend, shown.tree, shown.colours);
  }

  function setColours(name) {
    shown.colours = name;
    showLegend();
    redraw();
  }

  function zoomed() {
    selection.hideTooltip();
    redraw();
    onZoom(shown.focus);
  }

  function clicked(event) {
    const box = drawing.boxAt(event);
    if (box >= 0) zoom.to(box);
  }

  function nextMatch(step) {
    const box = matches.next(selection.selected(), step);
    if (box >= 0) selection.select(box);
  }

  function state() {
    const { tree, focus, colours } = shown;
    return { focus, selected: selection.selected(), pattern: matches.pattern(), canGoBack: zoom.canGoBack(), colours, path: tree ? pathOf(tree, focus) : [] };
  }

  function destroy() {
    watcher.disconnect();
    keyboard?.removeEventListener("keydown", press);
    drawing.remove();
    selection.remove();
  }

  return {
    show, nextMatch, setColours, redraw, state, press, destroy,
    zoomTo: zoom.to, zoomOut: zoom.out, reset: zoom.reset, select: selection.select, search: matches.searchFor, highlight: drawing.highlight,
  };
}
