// The selected box of a flamegraph, the one under the mouse, and the tooltip that speaks of either.
import { neighbour } from "./layout.js";
import { createTooltip } from "./tooltip.js";

const TALL = 6; // rows: a box at the lower edge comes into view with what it calls

// `shown` is {tree, focus}. `on`: geometry, viewport, announcer, says(box, tree) and onSelect(box).
export function createSelection(svg, shown, drawing, { geometry, viewport, announcer, says, onSelect }) {
  const tooltip = createTooltip(visibleArea);
  let selected = -1;
  let hovered = -1;
  svg.append(tooltip.group); // last: above all else

  function select(box) {
    selected = drawing.has(box) ? box : -1;
    mark();
    onSelect(selected);
    if (selected < 0) {
      tooltip.hide();
      return;
    }
    const { x, y, width, height } = drawing.shapeOf(selected);
    bringIntoView(y, height);
    tell(selected, x + Math.min(width / 2, 60), y + height + 4, height + 8);
    if (announcer) announcer.textContent = says(selected, shown.tree).join(", ");
  }

  function mark() {
    drawing.mark(selected, hovered);
  }

  function tell(box, x, y, clear) {
    tooltip.show(says(box, shown.tree), shown.tree.place(box) !== "", x, y, clear);
  }

  function point(event) {
    const box = drawing.boxAt(event);
    hover(box);
    if (box < 0) return;
    const { left, top } = svg.getBoundingClientRect();
    tell(box, event.clientX - left + 14, event.clientY - top + 18, geometry.row + 12);
  }

  function hover(box) {
    if (hovered === box) return;
    hovered = box;
    mark();
  }

  function leave() {
    hover(-1);
    tooltip.hide();
  }

  // Into another tree: `again` leads from a box to where it is now, null forgets.
  function follow(again) {
    selected = selected > 0 && again ? again(selected) : -1;
    tooltip.hide();
  }

  // After a drawing: what is not in it cannot be selected, and the mouse points at something else.
  function renew() {
    if (selected >= 0 && !drawing.has(selected)) select(-1);
    hovered = -1;
    mark();
  }

  function walk(key) {
    select(selected < 0 ? shown.focus : visibleNeighbour(key));
  }

  // Boxes too thin to be drawn are walked over.
  function visibleNeighbour(key) {
    let box = selected;
    for (;;) {
      const next = neighbour(shown.tree, box, key, shown.focus);
      if (next === box) return selected;
      if (drawing.has(next)) return next;
      box = next;
    }
  }

  // What can be seen of the drawing, in its own pixels.
  function visibleArea() {
    const whole = svg.getBoundingClientRect();
    const part = viewport?.getBoundingClientRect() ?? { left: 0, top: 0, right: Infinity, bottom: Infinity };
    const page = document.documentElement;
    return {
      left: Math.max(part.left, 0) - whole.left,
      top: Math.max(part.top, 0) - whole.top,
      right: Math.min(part.right, page.clientWidth || window.innerWidth) - whole.left,
      bottom: Math.min(part.bottom, window.innerHeight) - whole.top,
    };
  }

  // A header of the file, `geometry.top` high, stays in view above the boxes.
  function bringIntoView(y, height) {
    const seen = visibleArea();
    const scroller = viewport ?? window;
    const first = seen.top + geometry.top;
    if (y < first) scroller.scrollBy(0, y - first - geometry.row);
    else if (y + height > seen.bottom) scroller.scrollBy(0, y + height - seen.bottom + TALL * geometry.row);
  }

  return { select, walk, point, leave, follow, renew, hideTooltip: tooltip.hide, selected: () => selected, remove: () => tooltip.group.remove() };
}
