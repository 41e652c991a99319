// Run by `node --test`; tests/unit/test_scripts_under_node.py does so from pytest.
import assert from "node:assert/strict";
import { test } from "node:test";

import { count, duration, percent, size } from "../../../flamegraph_assets/figures.js";

test("counts and sizes read as in the other reports", () => {
  assert.deepEqual([4.214, 99.96, 657.4, 12480, 1234567, 0].map(count), ["4.21", "100", "657", "12 480", "1 234 567", "0"]);
  assert.deepEqual([512, 1.4 * 2 ** 20, 3 * 2 ** 40].map(size), ["512 B", "1.4 MiB", "3072.0 GiB"]);
});

test("durations and shares read as in the other reports", () => {
  const said = [850, 999.7, 12_500, 999_700, 3_200_000, 59_960_000, 245_000_000, 3_720_000_000].map(duration);
  assert.deepEqual(said, ["850 µs", "1 ms", "12.5 ms", "1.0 s", "3.2 s", "1 min 00 s", "4 min 05 s", "1 h 02 min"]);
  assert.deepEqual([0.042, 0.0994, 0.0996, 0.37, 1].map(percent), ["4.2 %", "9.9 %", "10 %", "37 %", "100 %"]);
});
