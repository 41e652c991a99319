// The two fields in seconds that choose a range of time by keyboard; their arrow keys move an edge by a slice.
import { make } from "./elements.js";

export function createRangeFields(span, { choose, moveEdge }) {
  const longest = rounded(span.end / 1e6);
  const field = (edge) => {
    const input = make("input", { type: "number", min: "0", max: String(longest), step: "any", inputmode: "decimal" });
    input.addEventListener("change", () => choose(Number(from.value) * 1e6, Number(to.value) * 1e6));
    input.addEventListener("keydown", (event) => {
      const direction = { ArrowUp: 1, ArrowDown: -1 }[event.key];
      if (!direction) return;
      event.preventDefault();
      moveEdge(edge, direction);
    });
    return input;
  };
  const from = field("from");
  const to = field("to");
  const form = make(
    "div",
    { class: "range", role: "group", "aria-label": "Range of time" },
    make("label", {}, make("span", {}, "From second"), from),
    make("label", {}, make("span", {}, "to second"), to),
  );
  return {
    form,
    show({ start, end }) {
      from.value = rounded(start / 1e6);
      to.value = rounded(end / 1e6);
    },
  };
}

function rounded(second) {
  return Number(second.toFixed(second < 10 ? 3 : 2));
}
