// The flamegraph of the page: its tree follows what is chosen, its zoom and search are part of it.
import { boxesOfFinding, buildTree } from "./calltree.js";
import { createControls } from "./controls.js";
import { make } from "./elements.js";
import { percent } from "./figures.js";
import { createFindingFrames } from "./findingframes.js";
import { createFlamegraph } from "./flamegraph.js";
import { commonAncestor } from "./layout.js";
import { rangeWords, spanOf, wholeSpan } from "./timescale.js";
import { DEFAULTS, SHAPES_TREE, WHOLE } from "./viewstate.js";

export function viewOf(state, slices) {
  const { metric, group, lines, inverted } = state;
  const range = state.to > 0 ? { from: state.from, to: state.to } : { from: 0, to: slices };
  return { metric, group, lines, inverted, phase: state.phase || null, ...range };
}

export function createFlamegraphSection(data, store, { section, controls: container, drawing, told }) {
  const longest = wholeSpan(data).end / 1e6;
  let tree = null;
  let isShowing = false; // a new tree moves the zoom by itself
  const controls = createControls(container, [...new Set(data.phases.map(({ name }) => name))], store, {
    search: (search) => store.set({ search }, "typing"),
    nextMatch: (step) => graph.nextMatch(step),
    back: () => graph.zoomOut(),
    reset: () => graph.reset(),
    clearRange: () => store.set(WHOLE),
    toFinding,
  });
  const viewport = windowAround(drawing);
  const graph = createFlamegraph(drawing, {
    viewport,
    legend: controls.legend,
    announcer: told,
    label: "Flamegraph of all processes",
    onZoom: () => isShowing || follow(),
    onMatches: (found) => controls.search.tell(matchWords(found), found.count > 0),
    onSearchKey: () => controls.search.focus(),
    onSearchCleared: () => store.set({ search: "" }, "typing"),
  });
  const frames = createFindingFrames(graph, { drawing, viewport, told });
  store.subscribe(update);
  update(store.get(), new Set(Object.keys(DEFAULTS)));

  function update(state, changed) {
    const isOtherTree = SHAPES_TREE.some((key) => changed.has(key));
    if (changed.has("colours")) graph.setColours(state.colours);
    if (isOtherTree) show(state, changed.has("zoom"));
    else if (changed.has("zoom")) zoomTo(state.zoom);
    if (changed.has("search") && graph.state().pattern !== state.search) graph.search(state.search);
    if (isOtherTree || changed.has("finding")) frames.mark(tree, state);
    showControls();
  }

  function show(state, hasZoom) {
    isShowing = true;
    tree = buildTree(data, viewOf(state, data.slices.start.length));
    graph.show(tree, { keepFocus: !hasZoom });
    if (hasZoom) zoomTo(state.zoom);
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
    const words = state.to > 0 ? rangeWords(spanOf(data.slices, state.from, state.to), longest) : "";
    controls.show(state, { canGoBack: graph.state().canGoBack, rangeWords: words });
  }

  // To the frames of a finding: everything that hides them is taken away first.
  function showFinding(rank) {
    store.set({ finding: rank, inverted: false, search: "" });
    if (boxesOfFinding(tree, rank).length === 0) store.set({ metric: DEFAULTS.metric, phase: "", ...WHOLE });
    const boxes = boxesOfFinding(tree, rank);
    if (boxes.length > 0) zoomTo(commonAncestor(tree, boxes));
    frames.mark(tree, store.get());
    section.scrollIntoView({ block: "start" });
    frames.bringIntoView();
    drawing.focus({ preventScroll: true });
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

// A recursion a thousand calls deep scrolls in a window of its own.
function windowAround(drawing) {
  const viewport = make("div", { class: "flamegraph-window" });
  drawing.before(viewport);
  viewport.append(drawing);
  return viewport;
}

function matchWords({ share, count, literal, pattern }) {
  if (pattern === "") return "";
  const words = count > 0 ? `${percent(share)} in ${count === 1 ? "1 box" : `${count} boxes`}` : "no match";
  return literal ? `${words}, taken literally` : words;
}
