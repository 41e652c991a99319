// The frames of a finding in the flamegraph: their outline, what is said of them, and the way to them.
import { boxesOfFinding } from "./calltree.js";
import { percent } from "./figures.js";

const ROW = 18; // pixels: of the outlined frames, one or two have to be in sight
const TIMES = { wall: "time", cpu: "time on a CPU", idle: "waiting time" };

export function createFindingFrames(graph, { drawing, viewport, told }) {
  return {
    // Again for each tree: boxes are those of one. Returns them.
    mark(tree, state) {
      const boxes = state.finding > 0 ? boxesOfFinding(tree, state.finding) : [];
      graph.highlight(boxes);
      told.textContent = state.finding > 0 ? outlineWords(tree, boxes, state) : "";
      return boxes;
    },
    // They can lie under a screen of callers. Without frames the outline is empty.
    bringIntoView() {
      const outline = drawing.querySelector(".highlighted");
      const { top, height } = outline.getBoundingClientRect();
      const lowest = Math.min(window.innerHeight, viewport.getBoundingClientRect().bottom);
      if (height > 0 && top + 2 * ROW > lowest) outline.scrollIntoView({ block: height > lowest / 2 ? "start" : "center" });
    },
  };
}

// The share is that of the whole tree: the zoom may show nothing else.
export function outlineWords(tree, boxes, { finding, metric, phase, to }) {
  const part = to > 0 || phase ? ", in what is chosen" : "";
  if (boxes.length === 0) return `Finding ${finding} has no ${TIMES[metric]} in the flamegraph${part}.`;
  const share = boxes.reduce((sum, box) => sum + tree.width[box], 0) / Math.max(1, tree.width[0]);
  const places = boxes.length === 1 ? "1 box is outlined" : `${boxes.length} boxes are outlined`;
  return `Finding ${finding}: ${places}, ${percent(share)} of the ${TIMES[metric]} of all processes${part}.`;
}
