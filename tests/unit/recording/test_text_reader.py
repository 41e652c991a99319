from __future__ import annotations

from rlprof.model.recording import Frame
from rlprof.recording.samplers.base import ClockStack
from rlprof.recording.samplers.text import TextReader

HEADER = b"# austin: 3.7.0\n# interval: 10000\n# mode: full\n\n"
FOOTER = b"\n# duration: 12345\n# errors: 0/12\n"


def read(*lines: str, end: bytes = b"\n") -> tuple[TextReader, dict[ClockStack, tuple[int, ...]]]:
    reader = TextReader()
    reader.feed(HEADER + "\n".join(lines).encode("utf-8", "surrogateescape") + end)
    reader.finish()
    times = {
        reader.parse(key): (time.busy_us, time.idle_us, time.ticks)
        for key, time in reader.drain().items()
    }
    return reader, times


def stack(*frames: Frame, tid: int = 7, gc: bool = False, torn: bool = False) -> ClockStack:
    return ClockStack(tid, frames, gc, torn)


MAIN = Frame("train.py", "<module>", 9)
STEP = Frame("train.py", "step", 3)


def test_time_adds_up_per_stack_busy_and_idle_apart():
    _, times = read(
        "P1;T0:7;train.py:<module>:9;train.py:step:3 100,0,0",
        "P1;T0:7;train.py:<module>:9;train.py:step:3 50,0,-4096",
        "P1;T0:7;train.py:<module>:9;train.py:step:3 7,1,8",
        "P1;T0:7;train.py:<module>:9 20,0,0",
    )

    assert times == {stack(MAIN, STEP): (150, 7, 3), stack(MAIN): (20, 0, 1)}


def test_memory_adds_up_per_stack_rises_and_falls_apart():
    reader = TextReader()
    reader.feed(
        b"P1;T0:7;a.py:f:1 10,0,4096\n"
        b"P1;T0:7;a.py:f:1 10,1,8192\n"
        b"P1;T0:7;a.py:f:1 10,0,-1024\n"
        b"P1;T0:7;a.py:g:1 10,0,0\n"
    )

    memory = {
        reader.parse(key).frames[0].function: (time.grown_bytes, time.released_bytes)
        for key, time in reader.drain().items()
    }

    assert memory == {"f": (12288, 1024), "g": (0, 0)}


def test_file_names_may_hold_what_divides_frames():
    _, times = read("P1;T0:7;/runs/lr=1;seed=2/train.py:<module>:9;C:;a;:b.py:step:3;:GC: 5,0,0")

    main = Frame("/runs/lr=1;seed=2/train.py", "<module>", 9)
    assert times == {stack(main, Frame("C:;a;:b.py", "step", 3), gc=True): (5, 0, 1)}


def test_collector_torn_and_empty_stacks():
    _, times = read(
        "P1;T0:7;train.py:<module>:9;:GC: 5,0,0",
        "P1;T0:7;train.py:<module>:9;:INVALID: 6,0,0",
        "P1;T0:7 7,0,0",
        "P1;T0:7;:INVALID: 8,0,0",
    )

    assert times == {
        stack(MAIN, gc=True): (5, 0, 1),
        stack(MAIN, torn=True): (6, 0, 1),
        stack(): (7, 0, 1),
        stack(torn=True): (8, 0, 1),
    }


def test_names_with_spaces_colons_and_other_bytes():
    _, times = read(
        "P1;T0:7;my file 1,0,2.py:f:3 5,0,0",
        "P1;T0:7;c:\\x.py:f:4 6,0,0",
        "P1;T0:7;n\udce4me.py:f:5 7,0,0",
        "P1;T0:7;a.py:<lambda>.<locals>.g:6 8,0,0",
    )

    names = {found.frames[0].file for found in times}
    assert names == {"my file 1,0,2.py", "c:\\x.py", "n\\xe4me.py", "a.py"}


def test_a_line_that_was_cut_is_counted_and_costs_nothing_else():
    reader, times = read(
        "P1;T0:7;train.py:<module>:9 10,0,0",
        "P1;T0:7;train.py:<mod",
        end=b"",
    )

    assert times == {stack(MAIN): (10, 0, 1)}
    assert reader.bad_lines == 1


def test_remarks_are_no_bad_lines():
    reader = TextReader()
    reader.feed(HEADER + b"P1;T0:7;train.py:<module>:9 10,0,0\n" + FOOTER)
    reader.finish()

    assert reader.bad_lines == 0
    assert reader.has_times()


def test_rubbish_is_counted_and_never_raises():
    reader = TextReader()
    reader.feed(bytes(range(256)) * 40 + b"\n 1,0,2\nP;T 1,0,2\n;;; 1,0,2\nPx;T0:1 1,0,0\n")
    reader.finish()

    assert reader.drain() == {}
    assert reader.bad_lines > 0


def test_drain_starts_anew():
    reader = TextReader()
    reader.feed(b"P1;T0:7;a.py:f:1 10,0,0\n")
    first = reader.drain()
    reader.feed(b"P1;T0:7;a.py:f:1 5,0,0\n")
    second = reader.drain()

    (key,) = first
    assert (first[key].busy_us, second[key].busy_us) == (10, 5)
