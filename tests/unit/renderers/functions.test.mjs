// Run by `node --test`; tests/unit/test_scripts_under_node.py does so from pytest.
import assert from "node:assert/strict";
import { test } from "node:test";

import { filterRows, patternOf, sortRows } from "../../../flamegraph_assets/functions.js";
import { compile } from "../../../flamegraph_assets/layout.js";

const ROWS = [
  { label: "step", file: "/home/me/env.py", short: "env.py", self: 5, total: 9 },
  { label: "choose", file: "/home/me/agent.py", short: "agent.py", self: 7, total: 7 },
  { label: "Adam.step", file: "/lib/torch/optim/adam.py", short: "torch/optim/adam.py", self: 1, total: 8 },
];
const labels = (rows) => rows.map(({ label }) => label);

test("rows are sorted by times and by names, both ways, and the given ones stay as they are", () => {
  assert.deepEqual(labels(sortRows(ROWS, "self", true)), ["choose", "step", "Adam.step"]);
  assert.deepEqual(labels(sortRows(ROWS, "total", false)), ["choose", "Adam.step", "step"]);
  assert.deepEqual(labels(sortRows(ROWS, "label", false)), ["Adam.step", "choose", "step"]);
  assert.equal(ROWS[0].label, "step");
});

test("the filter looks at names and files, and takes what is no expression literally", () => {
  assert.deepEqual(labels(filterRows(ROWS, "torch")), ["Adam.step"]);
  assert.deepEqual(labels(filterRows(ROWS, "^step")), ["step"]);
  assert.deepEqual(labels(filterRows(ROWS, "step(")), []);
  assert.equal(filterRows(ROWS, "").length, 3);
});

test("a row's search finds its own boxes and no others, whatever its name holds", () => {
  const odd = [
    ...ROWS,
    { label: "<lambda>", file: "/home/me/a-b [1]/env.py", short: "a-b [1]/env.py" },
    { label: "f.*(x)", file: "C:\\me\\env.py", short: "env.py" },
    { label: "garbage collection", file: "", short: "" },
    { label: "find", file: "<frozen importlib>", short: "importlib" },
    { label: "deep", file: "/home/me/a/b/c/env.py", short: "…/b/c/env.py" },
  ];
  for (const row of odd) {
    const { expression, literal } = compile(patternOf(row));
    assert.ok(!literal, row.label);
    const found = odd.filter((it) => expression.test(`${it.label} ${it.file ? `${it.file}:3` : ""}`));
    assert.deepEqual(labels(found), [row.label]);
  }
});
