// The page of `rlprof diff`: the flamegraph of both runs, its controls, and rows that lead to its boxes.
import { button, make, segments } from "./elements.js";
import { createFlamegraph } from "./flamegraph.js";
import { percent } from "./figures.js";
import { describeChange, treesOf } from "./difftrees.js";
import { searchField } from "./searchfield.js";

const data = JSON.parse(document.getElementById("data").textContent);
const trees = treesOf(data);
const controls = document.getElementById("flamegraph-controls");
const section = document.getElementById("flamegraph");
const drawing = document.getElementById("flamegraph-drawing");

const search = searchField({ search: (pattern) => graph.search(pattern), nextMatch: (step) => graph.nextMatch(step) });
const back = button("Back", { title: "Back to the former zoom (Escape)" }, () => graph.zoomOut());
const reset = button("Reset zoom", { title: "Show everything again (0)" }, () => graph.reset());
const legend = make("div", { class: "legend" });
const widths = segments("Widths", "widths", [["both", "mean of both"], ["base", section.dataset.base], ["new", section.dataset.new]], showWidths);

section.hidden = false;
controls.replaceChildren(
  make("div", { class: "row" }, widths.field, search.form, back, reset),
  legend,
);

const graph = createFlamegraph(drawing, {
  colours: "change",
  describe: (box) => describeChange(data, box),
  legend,
  announcer: document.getElementById("flamegraph-told"),
  label: "Flamegraph of both runs, coloured by change",
  onZoom: tellZoom,
  onMatches: tellMatches,
  onSearchKey: search.focus,
  onSearchCleared: () => search.show(""),
});

function showWidths(which) {
  graph.show(trees[which], { keepFocus: true });
}

function tellZoom(box) {
  back.disabled = !graph?.state().canGoBack;
  reset.disabled = box === 0;
}

function tellMatches({ share, count, literal, pattern }) {
  const words = count > 0 ? `${percent(share)} of this view` : "no match";
  search.tell(pattern ? `${words}${literal ? ", taken literally" : ""}` : "", count > 0);
}

// Boxes have the same places whatever their widths say; what is not drawn in one run is in the mean.
function leadTo(box) {
  widths.show("both");
  graph.show(trees.both, { keepFocus: true });
  graph.zoomTo(box);
  graph.highlight([box]);
  section.scrollIntoView();
  drawing.focus({ preventScroll: true });
}

for (const row of document.querySelectorAll("button.show-box")) {
  row.hidden = false;
  row.addEventListener("click", () => leadTo(Number(row.dataset.box)));
}
widths.show("both");
graph.show(trees.both);
tellZoom(0);
document.body.classList.add("ready");
document.documentElement.dataset.ready = "yes";
