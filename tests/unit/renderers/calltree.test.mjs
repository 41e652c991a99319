// Run by `node --test`; tests/unit/test_scripts_under_node.py does so from pytest.
import assert from "node:assert/strict";
import { test } from "node:test";

import { boxesOfFinding, buildTree, functionRows } from "../../../flamegraph_assets/calltree.js";
import { aBigRun, aRun } from "./rundata_factory.mjs";

const METRICS = ["wall", "cpu", "idle"];
const GROUPS = ["role", "pid", "thread"];

const MAIN = "train train.py:10";
const data = aRun(
  [
    ["main 1", "start-up", `${MAIN} > load base.py:3`, 50],
    ["main 1", "steady", `${MAIN} > step env.py:42 > get base.py:7`, 300],
    ["main 1", "steady", `${MAIN} > step env.py:43 > get base.py:9`, 100],
    ["main 1", "steady", `${MAIN} > step env.py:42`, 60, 20],
    ["main 1 Thread-7", "steady", "log log.py:5", 510, 500],
    ["worker 2", "steady", "work work.py:1 > step env.py:42", 200],
    ["worker 3", "steady", "work work.py:1 > step env.py:42", 100],
    ["worker 3", "steady", "work work.py:1 > recv pipe.py:8", 400, 400],
    ["worker 2 Thread-1", "steady", "pump pool.py:5", 40, 40],
    ["worker 2 Thread-2", "steady", "pump pool.py:5", 30, 30],
  ],
  { findings: { 1: ["get"], 2: ["step"] } },
);

const big = aBigRun({ nodes: 3_000, cells: 8_000, slices: 12, reach: 40, functions: 120 });

const sum = (values) => values.reduce((total, value) => total + value, 0);
const names = (tree) => Array.from({ length: tree.count }, (_, box) => tree.text(box));
const paths = (tree) => Array.from({ length: tree.count }, (_, box) => `${"  ".repeat(tree.depth[box])}${tree.text(box)} ${tree.width[box]}`);
const boxNamed = (tree, name) => names(tree).indexOf(name);

function assertSound(tree) {
  const below = new Float64Array(tree.count);
  for (let box = 1; box < tree.count; box++) {
    assert.ok(tree.parent[box] < box);
    assert.ok(tree.width[box] > 0);
    below[tree.parent[box]] += tree.width[box];
  }
  for (let box = 0; box < tree.count; box++) assert.ok(below[box] <= tree.width[box] + 1e-6, `${tree.text(box)}: ${below[box]} > ${tree.width[box]}`);
}

test("processes of a role are one box, their threads lie below, the main thread first", () => {
  assert.deepEqual(paths(buildTree(data, { metric: "wall", group: "role", lines: true })), [
    "all processes 1790",
    "  main, pid 1 1020",
    "    MainThread 510",
    "      train 510",
    "        load 50",
    "        step 360",
    "          get 300",
    "        step 100",
    "          get 100",
    "    Thread-7 510",
    "      log 510",
    "  worker, 2 processes 770",
    "    MainThread 700",
    "      work 700",
    "        recv 400",
    "        step 300",
    "    Thread-* 70",
    "      pump 70",
  ]);
});

test("by pid each process has a box, by thread each thread", () => {
  const rows = (group) => paths(buildTree(data, { metric: "wall", group })).filter((row) => !/^ {6}/.test(row)).slice(4);
  assert.deepEqual(rows("pid"), ["  worker, pid 2 270", "    MainThread 200", "    Thread-* 70", "  worker, pid 3 500", "    MainThread 500"]);
  assert.deepEqual(rows("thread"), ["  worker, pid 2 270", "    MainThread 200", "    Thread-1 40", "    Thread-2 30", "  worker, pid 3 500", "    MainThread 500"]);
});

test("without lines a function below one caller is one box, with the place of its heaviest line", () => {
  const tree = buildTree(data, { metric: "wall", group: "role", lines: false });
  const step = boxNamed(tree, "step");
  assert.equal(tree.width[step], 460);
  assert.equal(tree.place(step), "env.py:42");
  assert.equal(names(tree).filter((name) => name === "get").length, 1);
  const later = aRun([["main 1", "steady", "f a.py:1", 10], ["main 1", "steady", "f a.py:2", 90], ["main 1", "steady", "f a.py:3", 20]]);
  const one = buildTree(later, { metric: "wall", lines: false });
  assert.equal(one.place(boxNamed(one, "f")), "a.py:2");
});

test("the metric decides what is drawn: what only waits is not on a CPU", () => {
  assert.equal(buildTree(data, { metric: "cpu" }).width[0], 800);
  assert.ok(!names(buildTree(data, { metric: "cpu" })).includes("recv"));
  const idle = buildTree(data, { metric: "idle" });
  assert.equal(idle.width[0], 990);
  assert.deepEqual([idle.wall[0], idle.cpu[0]], [1790, 800]);
});

test("self times are those of the metric", () => {
  const tree = buildTree(data, { metric: "wall" });
  assert.equal(tree.self[boxNamed(tree, "step")], 60);
  const cpu = buildTree(data, { metric: "cpu" });
  assert.equal(cpu.self[boxNamed(cpu, "step")], 40);
});

test("inverted, functions come first by their self time and callers lie below, down to the process", () => {
  const tree = buildTree(data, { metric: "wall", group: "pid", lines: false, inverted: true });
  const roots = Array.from({ length: tree.count }, (_, box) => box).filter((box) => tree.depth[box] === 1);
  assert.deepEqual(roots.map((box) => `${tree.text(box)} ${tree.width[box]}`), ["log 510", "get 400", "recv 400", "step 360", "pump 70", "load 50"]);
  const get = boxNamed(tree, "get");
  assert.deepEqual(names(tree).slice(get, tree.end[get]), ["get", "step", "train", "MainThread", "main, pid 1"]);
  const step = roots[3];
  assert.deepEqual(paths(tree).slice(step, tree.end[step]), [
    "  step 360", "    work 300", "      MainThread 300", "        worker, pid 2 200", "        worker, pid 3 100",
    "    train 60", "      MainThread 60", "        main, pid 1 60",
  ]);
  assert.equal(sum(tree.self), tree.width[0]);
});

test("imports are start-up whenever they happen, and frames of the import system share a box", () => {
  const lazy = aRun(
    [
      ["main 1", "start-up", `${MAIN}`, 10],
      ["main 1", "steady", `${MAIN}`, 100],
      ["main 1", "steady", `${MAIN} > _find_and_load <frozen importlib._bootstrap>:1 > _load_unlocked <frozen importlib._bootstrap>:2 > body torch.py:1`, 7],
      ["main 1", "steady", `${MAIN} > _handle_fromlist <frozen importlib._bootstrap>:9`, 3],
    ],
    { importing: ["_find_and_load"] },
  );
  const startUp = buildTree(lazy, { metric: "wall", phase: "start-up" });
  assert.equal(startUp.width[0], 17);
  assert.deepEqual(names(startUp).slice(3), ["train", "import", "body"]);
  assert.equal(startUp.place(boxNamed(startUp, "import")), "");
  assert.equal(startUp.kindOf(boxNamed(startUp, "import")), "stdlib");
  assert.equal(buildTree(lazy, { metric: "wall", phase: "steady" }).width[0], 103);
  assert.equal(functionRows(lazy, { metric: "wall" }).find(({ label }) => label === "import").total, 7);
});

test("a phase that the run does not have is empty, not everything", () => {
  assert.equal(buildTree(data, { metric: "wall", phase: "warm-up" }).count, 1);
});

test("an empty run is a root of nothing", () => {
  const empty = aRun([]);
  for (const inverted of [false, true]) {
    const tree = buildTree(empty, { metric: "wall", inverted });
    assert.deepEqual([tree.count, tree.width[0], tree.text(0)], [1, 0, "all processes"]);
  }
  assert.deepEqual(functionRows(empty, { metric: "wall" }), []);
});

test("a box has the colour of the finding that has its time, and is found by any", () => {
  const tree = buildTree(data, { metric: "wall", lines: false });
  const [step, get] = [boxNamed(tree, "step"), boxNamed(tree, "get")];
  const ofWorkers = names(tree).lastIndexOf("step");
  assert.deepEqual([step, get, ofWorkers, 0].map((box) => tree.finding[box]), [0, 1, 2, 0]); // most of the first step is get
  assert.deepEqual(boxesOfFinding(tree, 1), [get]);
  assert.deepEqual(boxesOfFinding(tree, 2).map((box) => tree.text(box)), ["step", "step"]);
  assert.deepEqual(boxesOfFinding(tree, 3), []);
});

test("a finding that has a small part of a function's lines does not colour it", () => {
  const rows = [["main 1", "steady", "f a.py:1", 7], ["main 1", "steady", "f a.py:2", 60], ["main 1", "steady", "f a.py:3 > g b.py:1", 30]];
  const run = aRun(rows, { findings: { 1: ["slow"], 2: ["g"] } });
  run.findings[0].nodes = [0]; // line 1 of f
  const [merged, byLine] = [false, true].map((lines) => buildTree(run, { metric: "wall", lines }));
  assert.equal(merged.finding[boxNamed(merged, "f")], 0);
  assert.deepEqual(boxesOfFinding(merged, 1), [boxNamed(merged, "f")]);
  assert.equal(merged.finding[boxNamed(merged, "g")], 2);
  assert.deepEqual([...byLine.finding.subarray(3)], [1, 0, 0, 2]);
  const both = { ...run, findings: [{ ...run.findings[0], nodes: [0, 1] }] };
  const most = buildTree(both, { metric: "wall", lines: false });
  assert.equal(most.finding[boxNamed(most, "f")], 1);
});

test("a finding that has a small part of what a wide box calls does not colour it", () => {
  const rows = [["main 1", "steady", "f a.py:1", 7], ["main 1", "steady", "f a.py:1 > g b.py:1", 4], ["main 1", "steady", "f a.py:1 > h c.py:1", 60]];
  const colour = (findings) => {
    const tree = buildTree(aRun(rows, { findings }), { metric: "wall" });
    return ["f", "g", "h"].map((name) => tree.finding[boxNamed(tree, name)]);
  };
  assert.deepEqual(colour({ 1: ["f", "g"] }), [0, 1, 0]);
  assert.deepEqual(colour({ 1: ["f", "h"] }), [1, 0, 1]);
  assert.deepEqual(colour({ 1: ["f"], 2: ["f", "h"], 3: ["h"] }), [2, 0, 2]);
});

test("a line that only calls what a finding speaks of has no colour", () => {
  const run = aRun([["main 1", "steady", "f a.py:1 > g b.py:1", 10]], { findings: { 1: ["f"] } });
  assert.deepEqual([...buildTree(run, { metric: "wall" }).finding], [0, 0, 0, 0, 0]);
});

test("inverted, only the functions themselves have the colours of findings", () => {
  const run = aRun([["main 1", "steady", "f a.py:1 > g b.py:1", 10], ["main 1", "steady", "f a.py:1", 5]], { findings: { 1: ["f"] } });
  const tree = buildTree(run, { metric: "wall", inverted: true });
  assert.deepEqual(names(tree).map((name, box) => [name, tree.finding[box]]).filter(([, rank]) => rank), [["f", 1]]);
});

test("boxes of a finding below others of it are left out", () => {
  const nested = aRun([["main 1", "steady", "f a.py:1 > f a.py:1 > g a.py:2", 10]], { findings: { 1: ["f", "g"] } });
  const tree = buildTree(nested, { metric: "wall" });
  assert.deepEqual(boxesOfFinding(tree, 1), [boxNamed(tree, "f")]);
});

test("a line that two findings name is a box of both", () => {
  const both = aRun([["main 1", "steady", "f a.py:1", 10]], { findings: { 1: ["f"], 2: ["f"] } });
  const tree = buildTree(both, { metric: "wall" });
  assert.deepEqual([boxesOfFinding(tree, 1), boxesOfFinding(tree, 2)], [[3], [3]]);
});

test("rows of functions: self, total, CPU and waiting, the longest self time first", () => {
  const rows = functionRows(data, { metric: "wall", group: "pid" });
  assert.deepEqual(rows.map(({ label }) => label), ["log", "get", "recv", "step", "pump", "load", "work", "train"]);
  const { label, file, short, line, self, total, cpu, idle } = rows[3];
  assert.deepEqual({ label, file, short, line, self, total, cpu, idle }, { label: "step", file: "env.py", short: "env.py", line: 42, self: 360, total: 760, cpu: 740, idle: 20 });
  assert.equal(sum(rows.map((row) => row.self)), 1790);
});

test("rows by line tell the lines of a function apart", () => {
  const steps = functionRows(data, { metric: "wall", lines: true }).filter(({ label }) => label === "step");
  assert.deepEqual(steps.map(({ line, total }) => [line, total]), [[42, 660], [43, 100]]);
});

test("a recursion counts once in a total", () => {
  const recursive = aRun([["main 1", "steady", "f a.py:1 > g a.py:5 > f a.py:2 > f a.py:1", 10], ["main 1", "steady", "f a.py:1", 5]]);
  const rows = functionRows(recursive, { metric: "wall" });
  assert.deepEqual(rows.map(({ label, self, total }) => [label, self, total]), [["f", 15, 15], ["g", 0, 10]]);
});

test("a function that only waits has a row even when CPU time is asked for", () => {
  const recv = functionRows(data, { metric: "cpu" }).find(({ label }) => label === "recv");
  assert.deepEqual([recv.self, recv.total, recv.idle, recv.wall], [0, 0, 400, 400]);
});

for (const metric of METRICS) {
  test(`the ${metric} of the whole is the same however it is grouped, merged and turned`, () => {
    const whole = sum(big.cells[metric]);
    for (const group of GROUPS)
      for (const lines of [true, false])
        for (const inverted of [true, false]) {
          const tree = buildTree(big, { metric, group, lines, inverted });
          assertSound(tree);
          assert.equal(tree.width[0], whole);
          assert.equal(Math.round(sum(tree.self)), whole);
        }
    assert.equal(sum(functionRows(big, { metric }).map(({ self }) => self)), whole);
  });

  test(`the ${metric} of phases and of stretches adds up to the whole`, () => {
    const whole = buildTree(big, { metric }).width[0];
    const part = (view) => buildTree(big, { metric, ...view }).width[0];
    assert.equal(part({ phase: "start-up" }) + part({ phase: "steady" }), whole);
    assert.equal(part({ from: 0, to: 5 }) + part({ from: 5, to: 12 }), whole);
    assert.deepEqual([part({ from: 0, to: 12 }), part({ from: 5, to: 5 })], [whole, 0]);
  });
}

test("all slices give the very tree that no choice gives", () => {
  for (const inverted of [true, false]) {
    const all = buildTree(big, { metric: "wall", inverted });
    const chosen = buildTree(big, { metric: "wall", inverted, from: 0, to: 12 });
    assert.deepEqual(paths(chosen), paths(all));
  }
});

test("self times by function are the same from both sides", () => {
  const inverted = buildTree(big, { metric: "wall", lines: false, inverted: true });
  const roots = new Map();
  for (let box = 1; box < inverted.count; box = inverted.end[box]) roots.set(inverted.text(box), inverted.width[box]);
  const rows = functionRows(big, { metric: "wall" }).filter(({ self }) => self > 0);
  assert.deepEqual(new Map(rows.map(({ label, self }) => [label, self])), roots);
});

test("a recursion thousands deep does not end the stack", () => {
  const frames = Array.from({ length: 5_000 }, (_, at) => `f a.py:${at % 3}`).join(" > ");
  const deep = aRun([["main 1", "steady", frames, 10]]);
  for (const inverted of [false, true]) {
    const tree = buildTree(deep, { metric: "wall", inverted });
    assert.equal(tree.depth[tree.count - 1], 5_002);
  }
  assert.equal(functionRows(deep, { metric: "wall" })[0].total, 10);
});
