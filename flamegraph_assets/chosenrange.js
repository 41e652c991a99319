// The range of time that the page shows: it snaps to slices, and the store knows it. No DOM here.
import { slicesIn, spanOf } from "./timescale.js";
import { WHOLE } from "./viewstate.js";

// `onSet` hears of every choice, also when the same slices were chosen again: what was drawn snaps back.
export function createChosenRange(slices, store, onSet) {
  const count = slices.start.length;

  function set({ from, to }, how) {
    store.set(from === 0 && to === count ? WHOLE : { from, to }, how);
    onSet();
  }

  return {
    // From start to end (µs). An empty range, as after a click without a drag, chooses the whole run.
    choose: (start, end) => set(slicesIn(slices, start, end) ?? WHOLE),
    clear: () => store.set(WHOLE),
    // By a slice; an edge stays within the run, and before the other one.
    moveEdge(edge, direction) {
      const { from, to } = store.get();
      const range = to > 0 ? { from, to } : { from: 0, to: count };
      const moved = { ...range, [edge]: Math.min(count, Math.max(0, range[edge] + direction)) };
      set(moved.from < moved.to ? moved : range, "typing");
    },
    // {start, end} in µs; null for the whole run.
    span() {
      const { from, to } = store.get();
      return to > 0 ? spanOf(slices, from, to) : null;
    },
  };
}
