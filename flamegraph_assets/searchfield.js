// The field that searches a flamegraph, with the ways from match to match.
import { button, make } from "./elements.js";

// `on` holds what it does: search(pattern), nextMatch(step).
export function searchField(on) {
  const input = make("input", { type: "search", spellcheck: "false", autocomplete: "off", placeholder: "Search, press /", "aria-label": "Search frames by regular expression" });
  const result = make("output", { "aria-live": "polite" });
  const previous = button("‹", { title: "Previous match (N)", "aria-label": "Previous match" }, () => on.nextMatch(-1));
  const next = button("›", { title: "Next match (n)", "aria-label": "Next match" }, () => on.nextMatch(1));
  input.addEventListener("input", () => on.search(input.value));
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      on.nextMatch(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape" && input.value) {
      event.preventDefault();
      input.value = "";
      on.search("");
    }
  });
  return {
    form: make("div", { class: "search", role: "search" }, input, previous, next, result),
    focus() {
      input.focus();
      input.select();
    },
    show(pattern) {
      if (input.value !== pattern) input.value = pattern;
    },
    tell(words, hasMatches) {
      result.textContent = words;
      previous.disabled = next.disabled = !hasMatches;
    },
  };
}
