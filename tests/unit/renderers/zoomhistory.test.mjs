// Run by `node --test`; tests/unit/test_scripts_under_node.py does so from pytest.
import assert from "node:assert/strict";
import { test } from "node:test";

import { createZoomHistory } from "../../../flamegraph_assets/zoomhistory.js";

function aZoom(...boxes) {
  const shown = { focus: 0 };
  const told = [];
  const zoom = createZoomHistory(shown, () => told.push(shown.focus));
  boxes.forEach((box) => zoom.to(box));
  return { shown, told, zoom };
}

test("out goes back step by step, and says when there is nowhere to go", () => {
  const { shown, told, zoom } = aZoom(3, 5);
  assert.deepEqual([zoom.out(), shown.focus], [true, 3]);
  assert.deepEqual([zoom.out(), shown.focus], [true, 0]);
  assert.deepEqual([zoom.out(), zoom.canGoBack()], [false, false]);
  assert.deepEqual(told, [3, 5, 3, 0]);
});

test("the box that is in focus already is no step", () => {
  const { told, zoom } = aZoom(3, 3);
  assert.deepEqual(told, [3]);
  zoom.out();
  assert.ok(!zoom.canGoBack());
});

test("reset forgets the way", () => {
  const { shown, zoom } = aZoom(3, 5);
  zoom.reset();
  assert.deepEqual([shown.focus, zoom.canGoBack()], [0, false]);
});

test("into another tree boxes are found again, steps that fall together are one, and nobody is told", () => {
  const { shown, told, zoom } = aZoom(3, 5, 7);
  zoom.follow((box) => ({ 0: 0, 3: 2, 5: 2, 7: 4 })[box]);
  assert.equal(shown.focus, 4);
  assert.deepEqual(told, [3, 5, 7]);
  zoom.out();
  zoom.out();
  assert.deepEqual([shown.focus, zoom.canGoBack()], [0, false]);
  const { shown: anew, zoom: other } = aZoom(3);
  other.follow(null);
  assert.deepEqual([anew.focus, other.canGoBack()], [0, false]);
});
