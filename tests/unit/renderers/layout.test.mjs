// Run by `node --test`; tests/unit/renderers/test_layout_js.py does so from pytest.
import assert from "node:assert/strict";
import { test } from "node:test";

import { compile, columns, duration, elide, layout, makeTree, matchShare, neighbour, percent, search } from "../../../flamegraph_assets/layout.js";

// all 100: a 60 (b 40 (a 30), c 10), d 40
const LABELS = ["all", "a", "b", "a", "c", "d"];
const FRAMES = { parent: [-1, 0, 1, 2, 1, 0], wall: [100, 60, 40, 30, 10, 40], cpu: [50, 50, 40, 30, 10, 0] };
const tree = makeTree(FRAMES, "wall");
const named = (pattern) => search(tree, (box) => LABELS[box], compile(pattern).expression);

test("children lie side by side from where their caller starts", () => {
  assert.deepEqual(tree.start, [0, 0, 0, 0, 40, 60]);
  assert.deepEqual(tree.depth, [0, 1, 2, 3, 2, 1]);
  assert.deepEqual(tree.end, [6, 5, 4, 4, 5, 6]);
});

test("the metric decides widths", () => {
  assert.deepEqual(makeTree(FRAMES, "cpu").width, FRAMES.cpu);
});

test("without zoom the root fills the window", () => {
  const boxes = layout(tree, 0, 1000, 0.5);
  assert.deepEqual(boxes.map(({ box, x, width }) => [box, x, width]), [
    [0, 0, 1000], [1, 0, 600], [2, 0, 400], [3, 0, 300], [4, 400, 100], [5, 600, 400],
  ]);
});

test("a zoomed box fills the window, its callers stay above, its siblings go", () => {
  const boxes = layout(tree, 2, 800, 0.5);
  assert.deepEqual(boxes.map(({ box, x, width, above }) => [box, x, width, above]), [
    [0, 0, 800, true], [1, 0, 800, true], [2, 0, 800, false], [3, 0, 600, false],
  ]);
});

test("a box too thin to see is left out with all below it", () => {
  assert.deepEqual(layout(tree, 0, 1000, 350).map(({ box }) => box), [0, 1, 2, 5]);
});

test("an empty tree has one box", () => {
  const empty = makeTree({ parent: [-1], wall: [0], cpu: [0] }, "wall");
  assert.equal(layout(empty, 0, 500, 0.5).length, 1);
  assert.equal(matchShare(empty, [], 0), 0);
});

test("a match below a match counts once", () => {
  assert.deepEqual(named("^a$"), [1, 3]);
  assert.equal(matchShare(tree, named("^a$"), 0), 0.6);
});

test("matches side by side add up", () => {
  assert.equal(matchShare(tree, named("c|d"), 0), 0.5);
});

test("the share is that of the zoomed box, all of it below a match", () => {
  assert.equal(matchShare(tree, named("c"), 1), 10 / 60);
  assert.equal(matchShare(tree, named("^a$"), 2), 1);
  assert.equal(matchShare(tree, named("d"), 1), 0);
});

test("a pattern without capitals ignores case, one with them does not", () => {
  assert.ok(compile("omega").expression.test("OmegaConf"));
  assert.ok(!compile("OMEGA").expression.test("OmegaConf"));
  assert.ok(compile("\\W").expression.flags.includes("i"));
});

test("what is no regular expression is taken literally", () => {
  const { expression, literal } = compile("f(x[");
  assert.ok(literal);
  assert.ok(expression.test("call f(x[0])"));
  assert.ok(!compile("a.c").literal);
});

test("arrows walk: up to the caller, down to the heaviest, sideways along a row", () => {
  assert.equal(neighbour(tree, 3, "ArrowUp", 0), 2);
  assert.equal(neighbour(tree, 0, "ArrowUp", 0), 0);
  assert.equal(neighbour(tree, 1, "ArrowDown", 0), 2);
  assert.equal(neighbour(tree, 3, "ArrowDown", 0), 3);
  assert.equal(neighbour(tree, 2, "ArrowRight", 0), 4);
  assert.equal(neighbour(tree, 5, "ArrowLeft", 0), 1);
  assert.equal(neighbour(tree, 5, "ArrowRight", 0), 5);
});

test("arrows stay inside the zoomed box", () => {
  assert.equal(neighbour(tree, 1, "ArrowRight", 1), 1);
});

test("a label gives up its place first, then its end, then itself", () => {
  assert.deepEqual(elide("step", "env.py:42", 150, 7), { label: "step", place: "env.py:42" });
  assert.deepEqual(elide("step", "env.py:42", 60, 7), { label: "step", place: "" });
  assert.deepEqual(elide("observation", "", 42, 7), { label: "obser…", place: "" });
  assert.deepEqual(elide("observation", "", 20, 7), { label: "", place: "" });
});

test("of a module's top level the file is what is kept", () => {
  assert.deepEqual(elide("<module>", "omegaconf/base.py:3", 140, 7), { label: "omegaconf/base.py:3", place: "" });
  assert.deepEqual(elide("<module>", "a.py:3", 140, 7), { label: "<module>", place: "a.py:3" });
});

test("wide characters take two cells and are not cut in half", () => {
  assert.equal(columns("日本"), 4);
  assert.equal(columns("café…"), 5);
  assert.equal(elide("😀😀😀😀", "", 42, 7).label, "😀😀…");
});

test("durations and shares read as in the other reports", () => {
  const said = [850, 12_500, 3_200_000, 245_000_000, 3_720_000_000].map(duration);
  assert.deepEqual(said, ["850 µs", "12.5 ms", "3.2 s", "4 min 05 s", "1 h 02 min"]);
  assert.deepEqual([0.042, 0.0994, 0.0996, 0.37, 1].map(percent), ["4.2 %", "9.9 %", "10 %", "37 %", "100 %"]);
});
