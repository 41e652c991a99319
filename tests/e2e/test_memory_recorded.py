"""What the kernel and the sampler say of a program's memory ends up in the run file."""

from __future__ import annotations

from rlprof.model import gauges

MIB = 1 << 20

KEEPS = """
    import time

    kept = []

    def spin(seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pass

    spin(0.5)  # The sampler has attached by then.
    for _ in range(100):
        kept.append(b"x" * (1 << 20))
        spin(0.02)
"""


def test_memory_over_time_and_by_stack(rlprof_run, write):
    recording = rlprof_run(write(KEEPS)).recording

    levels = {
        name: [
            gauge.value for gauge in recording.gauges if gauge.name == name and gauge.process == 0
        ]
        for name in (gauges.RSS_BYTES, gauges.PEAK_RSS_BYTES, gauges.HOST_MEMORY_AVAILABLE_BYTES)
    }
    # The last look may fall into the process's end, which gives the memory back.
    assert max(levels[gauges.RSS_BYTES]) - levels[gauges.RSS_BYTES][0] > 80 * MIB
    assert levels[gauges.PEAK_RSS_BYTES] == sorted(levels[gauges.PEAK_RSS_BYTES])
    assert min(levels[gauges.HOST_MEMORY_AVAILABLE_BYTES]) > 0
    # From the sampler's first look to its last; what it misses at either end is a few windows' worth.
    grown = sum(row.grown_bytes for row in recording.memory)
    assert 80 * MIB < grown < 130 * MIB
