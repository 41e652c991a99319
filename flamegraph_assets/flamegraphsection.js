// The flamegraph of the page: its tree follows what is chosen, its zoom and search are part of it.
import { boxesOfFinding, buildTree } from "./calltree.js";
import { createControls } from "./controls.js";
import { make } from "./elements.js";
import { clock } from "./figures.js";
import { createFlamegraph } from "./flamegraph.js";
import { commonAncestor, percent } from "./layout.js";
import { spanOf } from "./timescale.js";
import { DEFAULTS, SHAPES_TREE, WHOLE } from "./viewstate.js";

const ROW = 18; // pixels: of the outlined frames, one or two have to be in sight

export function viewOf(state, slices) {
  const { metric, group, lines, inverted } = state;
  const range = state.to > 0 ? { from: state.from, to: state.to } : { from: 0, to: slices };
  return { metric, group, lines, inverted, phase: state.phase || null, ...range };
}

export function createFlamegraphSection(data, store, { section, controls: container, drawing, told }) {
  const longest = (data.slices.end[data.slices.end.length - 1] ?? 0) / 1e6;
  const phases = [...new Set(data.phases.map(({ name }) => name))];
  let tree = null;
  let isShowing = false; // a new tree moves the zoom by itself
  const controls = createControls(container, phases, store, {
    search: (search) => store.set({ search }, "typing"),
    nextMatch: (step) => graph.nextMatch(step),
    back: () => graph.zoomOut(),
    reset: () => graph.reset(),
    clearRange: () => store.set(WHOLE),
    toFinding,
  });
  // A recursion a thousand calls deep scrolls in a window of its own.
  const viewport = make("div", { class: "flamegraph-window" });
  drawing.before(viewport);
  viewport.append(drawing);
  const graph = createFlamegraph(drawing, {
    viewport,
    legend: controls.legend,
    announcer: told,
    label: "Flamegraph of all processes",
    onZoom: () => isShowing || follow(),
    onMatches: tellMatches,
    onSearchKey: () => controls.search.focus(),
    onSearchCleared: () => store.set({ search: "" }, "typing"),
  });
  store.subscribe(update);
  update(store.get(), new Set(Object.keys(DEFAULTS)));

  function update(state, changed) {
    if (changed.has("colours")) graph.setColours(state.colours);
    if (SHAPES_TREE.some((key) => changed.has(key))) show(state, changed.has("zoom"));
    else if (changed.has("zoom")) zoomTo(state.zoom);
    if (changed.has("search") && graph.state().pattern !== state.search) graph.search(state.search);
    if (changed.has("finding")) graph.highlight(state.finding > 0 ? boxesOfFinding(tree, state.finding) : []);
    showControls();
  }

  function show(state, hasZoom) {
    isShowing = true;
    tree = buildTree(data, viewOf(state, data.slices.start.length));
    graph.show(tree, { keepFocus: !hasZoom });
    if (hasZoom) zoomTo(state.zoom);
    if (state.finding > 0) graph.highlight(boxesOfFinding(tree, state.finding));
    isShowing = false;
    follow();
  }

  function zoomTo(box) {
    const { focus } = graph.state();
    if (box === focus) return;
    if (box > 0 && box < tree.count) graph.zoomTo(box);
    else graph.reset();
  }

  // The zoom that the graph has is the zoom that the address names.
  function follow() {
    store.set({ zoom: graph.state().focus }, "zoom");
    showControls();
  }

  function showControls() {
    const state = store.get();
    controls.show(state, { canGoBack: graph.state().canGoBack, rangeWords: rangeWords(state) });
  }

  function rangeWords({ from, to }) {
    if (to === 0) return "";
    const { start, end } = spanOf(data.slices, from, to);
    return `${clock(start / 1e6, longest)} to ${clock(end / 1e6, longest)}`;
  }

  function tellMatches({ share, count, literal, pattern }) {
    if (pattern === "") return controls.search.tell("", false);
    const words = count > 0 ? `${percent(share)} in ${count === 1 ? "1 box" : `${count} boxes`}` : "no match";
    return controls.search.tell(literal ? `${words}, taken literally` : words, count > 0);
  }

  // To the frames of a finding: everything that hides them is taken away first.
  function showFinding(rank) {
    store.set({ finding: rank, inverted: false, search: "" });
    if (boxesOfFinding(tree, rank).length === 0) store.set({ metric: DEFAULTS.metric, phase: "", ...WHOLE });
    const boxes = boxesOfFinding(tree, rank);
    if (boxes.length > 0) zoomTo(commonAncestor(tree, boxes));
    graph.highlight(boxes);
    section.scrollIntoView({ block: "start" });
    bringIntoView(drawing.querySelector(".highlighted"));
    drawing.focus({ preventScroll: true });
    const share = boxes.reduce((sum, box) => sum + tree.width[box], 0) / Math.max(1, tree.width[0]);
    const places = boxes.length === 1 ? "1 box is outlined" : `${boxes.length} boxes are outlined`;
    told.textContent = boxes.length > 0 ? `Finding ${rank}: ${places}, ${percent(share)} of all that is shown.` : `Finding ${rank} has no time of its own in the flamegraph.`;
  }

  // The frames of a finding can lie under a screen of callers. Without frames the outline is empty.
  function bringIntoView(outline) {
    const { top, height } = outline.getBoundingClientRect();
    const lowest = Math.min(window.innerHeight, viewport.getBoundingClientRect().bottom);
    if (height > 0 && top + 2 * ROW > lowest) outline.scrollIntoView({ block: height > lowest / 2 ? "start" : "center" });
  }

  // Forgets the finding: its outline goes, and the reader is where they came from.
  function toFinding() {
    const { finding } = store.get();
    store.set({ finding: 0 });
    const from = document.querySelector(`button.show-frames[data-rank="${finding}"]`);
    from?.closest(".finding")?.scrollIntoView({ block: "start" });
    from?.focus({ preventScroll: true });
  }

  // From the table: the search that finds a function, and its first match.
  function find(pattern) {
    store.set({ search: pattern });
    section.scrollIntoView({ block: "start" });
    drawing.focus({ preventScroll: true });
    graph.nextMatch(1);
  }

  return { find, showFinding };
}
