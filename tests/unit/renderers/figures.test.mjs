// Run by `node --test`; tests/unit/renderers/test_page_scripts_js.py does so from pytest.
import assert from "node:assert/strict";
import { test } from "node:test";

import { BYTE_STEPS, TIME_STEPS, clock, count, size, unitWords } from "../../../flamegraph_assets/figures.js";

test("counts and sizes read as in the other reports", () => {
  assert.deepEqual([4.214, 99.96, 657.4, 12480, 1234567, 0].map(count), ["4.21", "100", "657", "12 480", "1 234 567", "0"]);
  assert.deepEqual([512, 1.4 * 2 ** 20, 3 * 2 ** 40].map(size), ["512 B", "1.4 MiB", "3072.0 GiB"]);
});

test("a point in time is in seconds in short runs and on a clock in long ones", () => {
  assert.deepEqual([0, 0.25, 7.4431].map((at) => clock(at, 7.4431)), ["0 s", "0.25 s", "7.44 s"]);
  assert.deepEqual([clock(0.0123, 0.5), clock(17.26, 100)], ["0.012 s", "17.3 s"]);
  assert.deepEqual([0, 65, 3599.7, 36_000].map((at) => clock(at, 36_000)), ["0:00", "1:05", "1:00:00", "10:00:00"]);
});

test("units have their words", () => {
  assert.deepEqual([unitWords("bytes")(2048), unitWords("share")(0.374), unitWords("sps")(7465.2)], ["2.0 KiB", "37 %", "7 465"]);
});

test("the steps of axes rise", () => {
  for (const steps of [TIME_STEPS, BYTE_STEPS]) {
    steps.forEach((step, at) => assert.ok(at === 0 || step > steps[at - 1]));
  }
});
