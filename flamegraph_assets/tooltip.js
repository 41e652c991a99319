// The tooltip of a flamegraph, drawn in its SVG.
import { make } from "./svgnodes.js";

const LINE = 17;
const APART = 4; // pixels from the edge
const CHARACTER = 7; // pixels, about

// `bounds()` is what can be seen of the drawing, in its own pixels: {left, top, right, bottom}.
export function createTooltip(bounds) {
  const group = make("g", { class: "tooltip", display: "none", "aria-hidden": "true" });

  function show(lines, hasPlace, x, y, clear) {
    const seen = bounds();
    const most = Math.max(20, Math.floor((seen.right - seen.left - 60) / CHARACTER));
    const texts = lines.map((line, row) => {
      const names = row === 0 ? "name" : row === 1 && hasPlace ? "quiet" : "";
      return make("text", { x: 10, y: 19 + row * LINE, class: names }, cut(line, most));
    });
    group.replaceChildren(make("rect", { rx: 6 }), ...texts);
    group.removeAttribute("display");
    const width = Math.max(...texts.map((text) => text.getComputedTextLength())) + 20;
    const height = lines.length * LINE + 12;
    group.firstChild.setAttribute("width", width);
    group.firstChild.setAttribute("height", height);
    move({ ...seen, width, height }, x, y, clear);
  }

  // Below the point where there is room, else above it, `clear` pixels away, else as low as can be seen.
  function move({ left, top, right, bottom, width, height }, x, y, clear) {
    const above = y - height - clear;
    const at = y + height < bottom ? y : above >= top ? above : Math.max(top, bottom - height);
    group.setAttribute("transform", `translate(${Math.max(left + APART, Math.min(x, right - width - APART))},${at})`);
  }

  return { group, show, hide: () => group.setAttribute("display", "none") };
}

function cut(text, most) {
  if (text.length <= most) return text;
  const tail = Math.floor((most - 1) / 2);
  return `${text.slice(0, most - 1 - tail)}…${text.slice(text.length - tail)}`;
}
