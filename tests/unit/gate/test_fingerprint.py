"""What a baseline file says of its machine, and how another one differs from it."""

from __future__ import annotations

from rlprof.gate.baseline import differences, fingerprint
from tests.check_factory import MACHINE


def test_the_fingerprint_has_every_gpu_and_no_name_of_the_host():
    host = {
        "cpu_model": "Example 5000",
        "cores": "8",
        "usable_cores": "2.5",
        "machine": "x86_64",
        "name": "runner-17",
        "memory_bytes": "1",
        "gpu_driver": "570.1",
        "gpu:0:name": "H200",
        "gpu:1:name": "A100",
        "gpu:0:memory_bytes": "1",
    }

    found = fingerprint(host, {"python": "3.11.7", "torch": ""})

    assert found == {
        "architecture": "x86_64",
        "cores": "8",
        "cpu_model": "Example 5000",
        "gpu_driver": "570.1",
        "gpus": "H200, A100",
        "python": "3.11.7",
        "torch": "none",
        "usable_cores": "2.5",
    }


def test_differences_name_what_was_and_what_is():
    assert differences(MACHINE, MACHINE) == ()
    assert differences({"torch": "2.4"}, {"gpus": "H200"}) == (
        "gpus: none then, H200 now",
        "torch: 2.4 then, none now",
    )


def test_what_a_baseline_says_cannot_begin_a_line():
    [told] = differences({"torch": "2.4\n::error::not this"}, {"torch": "2.4"})

    assert told == r"torch: 2.4\n::error::not this then, 2.4 now"
    assert differences({"a\nb": "1"}, {}) == (r"a\nb: 1 then, none now",)
