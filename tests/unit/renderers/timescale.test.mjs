// Run by `node --test`; tests/unit/test_scripts_under_node.py does so from pytest.
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  BYTE_STEPS, TIME_STEPS, ceiling, clock, inOrder, linesOf, presence, rangeWords, seconds, slicesIn, spanOf, stacked, stretches, unitWords, wholeSpan,
} from "../../../flamegraph_assets/timescale.js";

const SLICES = { start: [0, 100, 250, 300], end: [100, 250, 300, 1000] };

test("a range takes in every slice that it touches", () => {
  assert.deepEqual(slicesIn(SLICES, 120, 260), { from: 1, to: 3 });
  assert.deepEqual(slicesIn(SLICES, -50, 5000), { from: 0, to: 4 });
  assert.deepEqual(slicesIn(SLICES, 100, 250), { from: 1, to: 2 });
});

test("the range that slices span leads back to them", () => {
  for (let from = 0; from < 4; from++) {
    for (let to = from + 1; to <= 4; to++) {
      const { start, end } = spanOf(SLICES, from, to);
      assert.deepEqual(slicesIn(SLICES, start, end), { from, to });
    }
  }
});

test("an empty range, or one outside of the run, is none", () => {
  assert.equal(slicesIn(SLICES, 50, 50), null);
  assert.equal(slicesIn(SLICES, 90, 10), null);
  assert.equal(slicesIn(SLICES, 1000, 2000), null);
  assert.equal(slicesIn({ start: [], end: [] }, 0, 10), null);
});

test("a finding is present where its nodes or what they call take time", () => {
  const data = {
    nodes: { parent: [-1, 0, 1, 0] },
    slices: { start: [0, 100, 200], end: [100, 200, 400] },
    // node 2 is below node 1; node 3 is not
    cells: { slice: [0, 0, 1, 2], node: [1, 3, 2, 2], wall: [10, 80, 40, 40] },
  };
  assert.deepEqual(presence(data, [1]), [0.25, 1, 0.5]);
  assert.deepEqual(presence(data, []), [0, 0, 0]);
});

test("slices with time are told as stretches", () => {
  assert.deepEqual(stretches([0, 0.5, 1, 0, 0.001, 0.2]), [{ from: 1, to: 3 }, { from: 5, to: 6 }]);
  assert.deepEqual(stretches([0, 0]), []);
});

test("a level holds to the end of its point, and what was not measured stays a gap", () => {
  const [line] = linesOf([{ name: "sps", slot: 0, values: Float64Array.of(NaN, 5, 7) }], 8);
  assert.deepEqual(line, { name: "sps", slot: 0, values: [null, 5, 7, 7] });
  assert.deepEqual(seconds({ start: [0, 1e6], end: [1e6, 3e6] }), [0, 1, 3]);
  assert.deepEqual(seconds({ start: [], end: [] }), []);
});

test("a role has the place of its name, whatever else a chart holds", () => {
  const placed = inOrder([{ name: "worker" }, { name: "main" }], ["main", "learner", "worker"]);
  assert.deepEqual(placed, [{ name: "main", slot: 0 }, { name: "worker", slot: 2 }]);
});

test("more lines than there are colours become one, which is their sum", () => {
  const names = ["GPU 1", "GPU 2", "GPU 3", "GPU 4"];
  const series = inOrder(names.map((name, at) => ({ name, values: [at + 1, null] })), names);
  const lines = linesOf(series, 3);
  assert.deepEqual(lines.map(({ name, slot }) => [name, slot]), [["GPU 1", 0], ["GPU 2", 1], ["2 more", 2]]);
  assert.deepEqual(lines[2].values, [7, null, null]);
});

test("an axis ends above the highest value", () => {
  const data = { timeline: { start: [0, 10, 20], end: [10, 20, 30] }, phases: [{ name: "steady", start: 10, end: 30 }] };
  assert.deepEqual(ceiling([[null, 50, 100, 100]], data), { top: 106, cut: 0 });
  assert.deepEqual(ceiling([[null, null, null]], data), { top: 1, cut: 0 });
});

test("a burst before the steady phase is cut off and told; one within it is not", () => {
  const data = { timeline: { start: [0, 10, 20], end: [10, 20, 30] }, phases: [{ name: "steady", start: 10, end: 30 }] };
  assert.deepEqual(ceiling([[2600, 10, 12, 12]], data), { top: 18, cut: 2600 });
  assert.deepEqual(ceiling([[10, 2600, 12, 12]], data), { top: 2756, cut: 0 });
  assert.deepEqual(ceiling([[2600, 10, 12, 12]], { ...data, phases: [] }), { top: 2756, cut: 0 });
});

test("a stack's top is the sum, and a gap adds nothing", () => {
  const tops = stacked([{ values: [1, null, null] }, { values: [2, 5, null] }]);
  assert.deepEqual(tops, [[1, 0, null], [3, 5, null]]);
  assert.deepEqual(stacked([]), []);
});

test("the whole span covers slices and points, from the start of the run", () => {
  const timeline = { start: [50], end: [1200], series: [] };
  assert.deepEqual(wholeSpan({ slices: SLICES, timeline }), { start: 0, end: 1200 });
  assert.deepEqual(wholeSpan({ slices: { start: [], end: [] }, timeline: { start: [], end: [] } }), { start: 0, end: 0 });
});

test("a point in time is in seconds in short runs and on a clock in long ones", () => {
  assert.deepEqual([0, 0.25, 7.4431].map((at) => clock(at, 7.4431)), ["0 s", "0.25 s", "7.44 s"]);
  assert.deepEqual([clock(0.0123, 0.5), clock(17.26, 100)], ["0.012 s", "17.3 s"]);
  assert.deepEqual([0, 65, 3599.7, 36_000].map((at) => clock(at, 36_000)), ["0:00", "1:05", "1:00:00", "10:00:00"]);
});

test("a range of time is told on the clock of the run", () => {
  assert.equal(rangeWords({ start: 2_500_000, end: 65e6 }, 100), "2.5 s to 65 s");
  assert.equal(rangeWords({ start: 65e6, end: 3_600e6 }, 36_000), "1:05 to 1:00:00");
});

test("units have their words", () => {
  assert.deepEqual([unitWords("bytes")(2048), unitWords("share")(0.374), unitWords("sps")(7465.2)], ["2.0 KiB", "37 %", "7 465"]);
});

test("the steps of axes rise", () => {
  for (const steps of [TIME_STEPS, BYTE_STEPS]) {
    steps.forEach((step, at) => assert.ok(at === 0 || step > steps[at - 1]));
  }
});
