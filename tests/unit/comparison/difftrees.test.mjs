// Run by `node --test`; tests/unit/test_scripts_under_node.py does so from pytest.
import assert from "node:assert/strict";
import { test } from "node:test";

import { classOf } from "../../../flamegraph_assets/colours.js";
import { describeChange, relative, smallDuration, treesOf } from "../../../flamegraph_assets/difftrees.js";

// all 100 -> 150: act 60 -> 60, copy 0 -> 40, old 20 -> 0
const STRINGS = ["all processes", "act", "copy", "old", "", "train.py"];
const DATA = {
  per: "step", metric: "wall", kinds: ["root", "yours"], strings: STRINGS,
  columns: {
    parent: [-1, 0, 0, 0], label: [0, 1, 2, 3], file: [4, 5, 5, 5], line: [0, 12, 0, 20], kind: [0, 1, 1, 1],
    base: [100, 60, 0, 20], new: [150, 60, 40, 0], baseIdle: [0, 0, 0, 10], newIdle: [0, 0, 0, 0], noise: [10, 5, 2, 30], clear: [1, 0, 1, 0],
  },
};
const { both, base, new: now } = treesOf(DATA);

test("widths are those of a run, or the mean of both", () => {
  assert.deepEqual([...both.width], [125, 60, 20, 10]);
  assert.deepEqual([...base.width], [100, 60, 0, 20]);
  assert.deepEqual([...now.width], [150, 60, 40, 0]);
});

test("changes and noise are shares of the base's time, whatever the widths", () => {
  for (const tree of [both, base, now]) {
    assert.deepEqual([...tree.change], [0.5, 0, 0.4, -0.2]);
    assert.deepEqual([...tree.noise], [0.1, 0.05, 0.02, 0.3]);
  }
});

test("a base without time leaves finite shares", () => {
  const columns = { ...DATA.columns, base: [0, 0, 0, 0] };
  assert.ok([...treesOf({ ...DATA, columns }).both.change].every(Number.isFinite));
});

test("a box is told with both costs and its noise", () => {
  assert.deepEqual(describeChange(DATA, 1), ["act", "train.py:12", "60 µs → 60 µs wall time per step (±0)", "within the noise of ±5 µs"]);
  assert.deepEqual(describeChange(DATA, 2), ["copy", "train.py", "0 → 40 µs wall time per step (new)", "more than noise"]);
  assert.deepEqual(describeChange(DATA, 3).slice(2), [
    "20 µs → 0 wall time per step (gone)", "within the noise of ±30 µs", "of that waiting: 10 µs → 0",
  ]);
});

test("what is clear was decided before figures were rounded", () => {
  const columns = { ...DATA.columns, noise: [49.99, 0, 39.99, 19.99], clear: [0, 0, 0, 1] };
  const { both: rounded } = treesOf({ ...DATA, columns });
  assert.deepEqual([0, 1, 2, 3].map((box) => classOf(rounded, box, "change")), ["same", "same", "same", "less3"]);
  assert.equal(describeChange({ ...DATA, columns }, 2).at(-1), "within the noise of ±40 µs");
  assert.ok(describeChange({ ...DATA, columns }, 3).includes("more than noise"));
});

test("without steps costs are parts of the steady time", () => {
  const columns = { ...DATA.columns, base: [1e6, 2e5, 0, 0], new: [1e6, 4e5, 0, 0] };
  assert.equal(describeChange({ ...DATA, per: "second", columns }, 1)[2], "20 % → 40 % wall time of steady time (+100 %)");
});

test("durations and changes read as in the other formats", () => {
  assert.deepEqual([0, 0.0474, 0.999, 0.9996, 2.061, 850, 999.7, 12_500, 3.2e6, 75e6].map(smallDuration), ["0", "47.4 ns", "999 ns", "1 µs", "2.06 µs", "850 µs", "1 ms", "12.5 ms", "3.2 s", "1 min 15 s"]);
  assert.deepEqual([[100, 19], [100, 104.2], [100, 100.01], [0, 1], [1, 0], [0, 0], [10, 61], [1, 1240]].map((pair) => relative(...pair)), ["−81 %", "+4.2 %", "±0", "new", "gone", "–", "6.1×", "1 240×"]);
});
