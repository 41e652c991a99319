// Run by `node --test`; tests/unit/test_scripts_under_node.py does so from pytest.
import assert from "node:assert/strict";
import { test } from "node:test";

import { boxAtPath, boxInRow, commonAncestor, compile, columns, describe, elide, layout, literally, makeTree, matchShare, neighbour, pathOf, rows, search } from "../../../flamegraph_assets/layout.js";

// all 100: a 60 (b 40 (a 30), c 10), d 40
const LABELS = ["all", "a", "b", "a", "c", "d"];
const STRINGS = ["", "all", "a", "b", "c", "d", "/home/x/a.py", "a.py"];
const FRAMES = {
  parent: [-1, 0, 1, 2, 1, 0], wall: [100, 60, 40, 30, 10, 40], idle: [50, 10, 0, 0, 0, 40], cpu: [50, 50, 40, 30, 10, 0],
  label: LABELS.map((label) => STRINGS.indexOf(label)), file: [0, 6, 6, 6, 6, 6], short: [0, 7, 7, 7, 7, 7], line: [0, 1, 2, 1, 3, 4], kind: [1, 0, 0, 0, 0, 0],
};
const VIEW = { metric: "wall", strings: STRINGS, kinds: ["yours", "root"] };
const tree = makeTree(FRAMES, VIEW);
const named = (pattern) => search(tree, compile(pattern).expression);

test("children lie side by side from where their caller starts", () => {
  assert.deepEqual([...tree.start], [0, 0, 0, 0, 40, 60]);
  assert.deepEqual([...tree.depth], [0, 1, 2, 3, 2, 1]);
  assert.deepEqual([...tree.end], [6, 5, 4, 4, 5, 6]);
});

test("the metric decides widths", () => {
  assert.deepEqual(makeTree(FRAMES, { ...VIEW, metric: "cpu" }).width, FRAMES.cpu);
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
  const empty = makeTree({ parent: [-1], wall: [0], cpu: [0] }, { metric: "wall" });
  assert.equal(layout(empty, 0, 500, 0.5).length, 1);
  assert.equal(matchShare(empty, [], 0), 0);
});

test("a match below a match counts once", () => {
  assert.deepEqual(named("^a "), [1, 3]);
  assert.equal(matchShare(tree, named("^a "), 0), 0.6);
});

test("matches side by side add up", () => {
  assert.equal(matchShare(tree, named("^[cd] "), 0), 0.5);
});

test("the share is that of the zoomed box, all of it below a match", () => {
  assert.equal(matchShare(tree, named("^c "), 1), 10 / 60);
  assert.equal(matchShare(tree, named("^a "), 2), 1);
  assert.equal(matchShare(tree, named("^d "), 1), 0);
});

test("a search finds names and places", () => {
  assert.deepEqual(named("a.py:3$"), [4]);
});

test("what a box does itself is what its children leave", () => {
  assert.deepEqual([...tree.self], [0, 10, 10, 30, 10, 40]);
});

test("the box under a point is found by its row, thin ones within reach", () => {
  const [, second, third] = rows(tree, layout(tree, 0, 1000, 0.5));
  assert.deepEqual([0, 599, 600, 999, 1100].map((x) => boxInRow(second, x, 1)), [1, 1, 5, 5, -1]);
  assert.deepEqual([399, 401, 501, 503].map((x) => boxInRow(third, x, 2)), [2, 4, 4, -1]);
});

test("the common caller of boxes is the deepest that holds them all", () => {
  assert.equal(commonAncestor(tree, [3, 4]), 1);
  assert.equal(commonAncestor(tree, [4, 5, 3]), 0);
  assert.equal(commonAncestor(tree, [2, 3]), 2);
  assert.equal(commonAncestor(tree, [3]), 3);
  assert.equal(commonAncestor(tree, []), 0);
});

test("a box is found again by its path, or else its nearest caller", () => {
  for (let box = 0; box < tree.count; box++) assert.equal(boxAtPath(tree, pathOf(tree, box)), box);
  assert.equal(boxAtPath(tree, [...pathOf(tree, 2), "gone x.py:1"]), 2);
  assert.equal(boxAtPath(tree, ["gone x.py:1", ...pathOf(tree, 2)]), 0);
});

test("without lines the path does not mind which line is the hottest", () => {
  const functions = makeTree(FRAMES, { ...VIEW, lines: false });
  const moved = makeTree({ ...FRAMES, line: FRAMES.line.map((line) => line + 7) }, { ...VIEW, lines: false });
  assert.equal(boxAtPath(moved, pathOf(functions, 3)), 3);
  assert.equal(boxAtPath(makeTree({ ...FRAMES, line: FRAMES.line.map((line) => line + 7) }, VIEW), pathOf(tree, 3)), 0);
});

test("a shade depends on the function alone, and the frame around all functions has none", () => {
  assert.equal(tree.shade[1], tree.shade[3]);
  assert.equal(tree.shade[0], 0);
  assert.ok(new Set(tree.shade).size > 1);
});

test("the tooltip says place, times, shares, finding and change", () => {
  assert.deepEqual(describe(tree, 5), ["d", "/home/x/a.py:4", "wall 40 µs, CPU 0 µs, waiting 40 µs", "40 % of all, 40 % of its caller"]);
  const changed = { ...FRAMES, finding: [0, 0, 2, 0, 0, 0], change: [0, -0.12, 0.004, 0.03, 0, 0], noise: [0, 0.01, 0.01, 0.004, 0, 0], clear: [0, 1, 0, 1, 0, 0] };
  const compared = makeTree(changed, { ...VIEW, findings: [{ rank: 2, title: "slow reads" }] });
  assert.deepEqual(describe(compared, 2).slice(4), ["finding 2: slow reads", "+0.4 % of the base's time per step: within the noise (± 1.0 %)"]);
  assert.equal(describe(compared, 1).at(-1), "−12 % of the base's time per step (noise ± 1.0 %)");
  assert.equal(describe(compared, 3).at(-1), "+3.0 % of the base's time per step (noise ± 0.4 %)");
  const worded = makeTree({ ...changed, words: [0, 6, 0, 0, 0, 0] }, VIEW);
  assert.deepEqual([describe(worded, 1)[2], describe(worded, 3)[2]], ["/home/x/a.py", "wall 30 µs, CPU 30 µs"]);
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
  assert.ok(compile("gpu-sync(").expression.test("gpu-sync(x)"));
  assert.ok(!compile("a.c").literal);
});

test("any text can be searched for literally", () => {
  const text = Array.from({ length: 95 }, (_, at) => String.fromCharCode(32 + at)).join("");
  assert.equal(new RegExp(`^${literally(text)}$`, "u").exec(text)?.[0], text);
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
