// Run by `node --test`; tests/unit/test_scripts_under_node.py does so from pytest.
import assert from "node:assert/strict";
import { test } from "node:test";

import { DEFAULTS, createStore, fromHash, isView, toHash } from "../../../flamegraph_assets/viewstate.js";

const LIMITS = { phases: ["start-up", "steady"], slices: 40, ranks: [1, 2, 3] };

test("what the page shows at first needs no words in the address", () => {
  assert.equal(toHash(DEFAULTS), "");
  assert.deepEqual(fromHash("", LIMITS), DEFAULTS);
});

test("a view comes back from its address as it was", () => {
  const view = {
    metric: "cpu", group: "pid", phase: "start-up", lines: false, inverted: true, colours: "finding",
    from: 3, to: 17, finding: 2, zoom: 55, search: "a&b=c #1 +ü",
  };
  assert.deepEqual(fromHash(toHash(view), LIMITS), view);
});

test("what an address says that this run does not have falls back", () => {
  const said = "metric=sum&group=host&phase=shutdown&colours=red&time=3-41&finding=9&zoom=-1&by=line&callers=no";
  assert.deepEqual(fromHash(said, LIMITS), DEFAULTS);
  assert.deepEqual(fromHash("time=5-5&finding=1e3&zoom=1.5", LIMITS), DEFAULTS);
  assert.deepEqual(fromHash("time=9-2", LIMITS), DEFAULTS);
});

test("a very long search is cut", () => {
  assert.equal(fromHash(`search=${"x".repeat(9999)}`, LIMITS).search.length, 500);
});

test("an anchor is no view", () => {
  assert.ok(!isView("findings"));
  assert.ok(isView("") && isView("metric=cpu"));
});

test("listeners hear what changed, and nothing when nothing did", () => {
  const store = createStore({ group: "pid" });
  const heard = [];
  store.subscribe((state, changed, how) => heard.push([state.metric, [...changed], how]));
  store.set({ metric: "cpu", group: "pid" });
  store.set({ metric: "cpu" });
  store.set({ search: "a" }, "typing");
  assert.deepEqual(heard, [["cpu", ["metric"], "choice"], ["cpu", ["search"], "typing"]]);
});
