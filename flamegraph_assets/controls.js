// The controls of the flamegraph: what it shows, how it is coloured, search, and the way back.
import { button, choice, make, segments, tick } from "./elements.js";
import { searchField } from "./searchfield.js";

// `on` holds what the buttons do: search(pattern), nextMatch(step), back(), reset(), clearRange(), toFinding().
export function createControls(container, phases, store, on) {
  const set = (key) => (value) => store.set({ [key]: value });
  const metric = segments("Time", "metric", [["wall", "wall"], ["cpu", "on CPU"], ["idle", "waiting"]], set("metric"));
  const group = choice("Group by", [["role", "role"], ["pid", "process"], ["thread", "thread"]], set("group"));
  const phase = choice("Phase", [["", "whole run"], ...phases.map((name) => [name, name])], set("phase"));
  const colours = choice("Colour by", [["package", "kind of code"], ["finding", "finding"]], set("colours"));
  const lines = tick("line by line", {}, set("lines"));
  const inverted = tick("callers below (inverted)", {}, set("inverted"));
  const search = searchField(on);
  const back = button("Back", { title: "Back to the former zoom (Escape)" }, on.back);
  const reset = button("Reset zoom", { title: "Show everything again (0)" }, on.reset);
  const range = button("", { class: "chip", title: "Show the whole run again" }, on.clearRange);
  const finding = button("", { class: "chip" }, on.toFinding);
  const legend = make("div", { class: "legend" });
  container.replaceChildren(
    make("div", { class: "row" }, metric.field, group.label, phase.label, colours.label, lines.label, inverted.label),
    make("div", { class: "row" }, search.form, back, reset, range, finding),
    legend,
  );
  return {
    legend,
    search,
    show(state, { canGoBack, rangeWords }) {
      metric.show(state.metric);
      group.select.value = state.group;
      phase.select.value = state.phase;
      colours.select.value = state.colours;
      lines.box.checked = state.lines;
      inverted.box.checked = state.inverted;
      back.disabled = !canGoBack;
      reset.disabled = state.zoom === 0;
      range.hidden = rangeWords === "";
      range.textContent = `Only ${rangeWords} ✕`;
      range.setAttribute("aria-label", `Only ${rangeWords} is shown: show the whole run again`);
      finding.hidden = state.finding === 0;
      finding.textContent = `Back to finding ${state.finding}`;
      search.show(state.search);
    },
  };
}
