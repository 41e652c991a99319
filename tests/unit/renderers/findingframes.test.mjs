// Run by `node --test`; tests/unit/test_scripts_under_node.py does so from pytest.
import assert from "node:assert/strict";
import { test } from "node:test";

import { outlineWords } from "../../../flamegraph_assets/findingframes.js";
import { DEFAULTS } from "../../../flamegraph_assets/viewstate.js";

const tree = { width: [1000, 400, 86, 14] };
const state = { ...DEFAULTS, finding: 2 };

test("the share is that of all processes, whatever the zoom shows", () => {
  assert.equal(outlineWords(tree, [2], state), "Finding 2: 1 box is outlined, 8.6 % of the time of all processes.");
  assert.equal(outlineWords(tree, [2, 3], { ...state, metric: "cpu" }), "Finding 2: 2 boxes are outlined, 10 % of the time on a CPU of all processes.");
});

test("a part of the run that was chosen is named", () => {
  const ending = " of the time of all processes, in what is chosen.";
  assert.ok(outlineWords(tree, [2], { ...state, from: 3, to: 5 }).endsWith(ending));
  assert.ok(outlineWords(tree, [2], { ...state, phase: "steady" }).endsWith(ending));
});

test("a finding without boxes is told too", () => {
  assert.equal(outlineWords(tree, [], state), "Finding 2 has no time in the flamegraph.");
  assert.equal(outlineWords({ width: [0] }, [], { ...state, metric: "idle", to: 2 }), "Finding 2 has no waiting time in the flamegraph, in what is chosen.");
});
