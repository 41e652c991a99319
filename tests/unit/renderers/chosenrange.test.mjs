// Run by `node --test`; tests/unit/test_scripts_under_node.py does so from pytest.
import assert from "node:assert/strict";
import { test } from "node:test";

import { createChosenRange } from "../../../flamegraph_assets/chosenrange.js";
import { createStore } from "../../../flamegraph_assets/viewstate.js";

const SLICES = { start: [0, 100, 250, 300], end: [100, 250, 300, 1000] };

function aRange(state = {}) {
  const store = createStore(state);
  const heard = [];
  return { store, heard, range: createChosenRange(SLICES, store, () => heard.push(store.get().to)) };
}

const chosen = ({ store }) => [store.get().from, store.get().to];

test("a range snaps to the slices it touches, and is told every time", () => {
  const it = aRange();
  it.range.choose(120, 260);
  it.range.choose(130, 270);
  assert.deepEqual(chosen(it), [1, 3]);
  assert.deepEqual(it.heard, [3, 3]);
  assert.deepEqual(it.range.span(), { start: 100, end: 300 });
});

test("an empty range, and one of all slices, is the whole run", () => {
  for (const [start, end] of [[50, 50], [0, 1000]]) {
    const it = aRange({ from: 1, to: 2 });
    it.range.choose(start, end);
    assert.deepEqual([chosen(it), it.range.span()], [[0, 0], null]);
  }
});

test("an edge moves by a slice, within the run and before the other edge", () => {
  const it = aRange();
  it.range.moveEdge("from", 1);
  assert.deepEqual(chosen(it), [1, 4]);
  it.range.moveEdge("to", 1);
  assert.deepEqual(chosen(it), [1, 4]);
  for (let times = 0; times < 5; times++) it.range.moveEdge("to", -1);
  assert.deepEqual(chosen(it), [1, 2]);
});
