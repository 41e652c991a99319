"""Double precision, mostly from NumPy arrays that nobody converted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from rlprof.detectors.base import Detector, InSamples, InTrace
from rlprof.detectors.recognisers.line_time import LineTime
from rlprof.device.host import CallSite, call_sites
from rlprof.device.kernels import FP64, kernels_named
from rlprof.device.places import SHOWN_PLACES, place
from rlprof.device.view import TraceView
from rlprof.model.calibration import calibrated
from rlprof.model.device import DeviceFinding, TracePlace
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, SeenValue
from rlprof.model.trace import Row
from rlprof.source.lines import Line, UserLines, short_place
from rlprof.source.value import Value
from rlprof.source.values import Values
from rlprof.syntax.origin import installed_package
from rlprof.units import count, duration, percent

MIN_SHARE: Final = 0.02
"""Least share of the time that the device works. 0.1 to 0.2 % is usual: sums and losses are kept in it."""

SAVED: Final = 1 - 1 / 64
"""Part of the time of such kernels that is saved at most: half the bytes where memory is the limit; where arithmetic is,
single precision is 2 to 64 times as quick, by the kind of the device."""

MIN_SHARE_ON_CPU: Final = 0.05
"""Least share of the critical time, in torch: of less, half is not worth the change."""

REMOVABLE: Final = calibrated(
    Range(0.0, 0.62),
    unit="part of torch's time",
    source="benchmarks/replacements.py, torch 2.13 on one thread: updates of two layers of 64 on 1 row 0, on 32 rows 0.09 to 0.17, of 128 on 256 "
    "rows 0.35 to 0.42, of 256 on 128 rows 0.44 to 0.62",
    date="2026-11-25",
)
"""Part of the time in torch that single precision saves on a CPU."""

BATCHED: Final = calibrated(
    Range(0.1, 0.62),
    unit="part of torch's time",
    source="the same: of two layers of 64 on 128 rows 0.23, on 256 0.31, of 128 0.35 to 0.42; of 16 on 256 0.14",
    date="2026-11-25",
)
"""The same where batches of ``MANY_ROWS`` were seen."""

MANY_ROWS: Final = 128
"""Rows of a batch from which on a network of two layers of 64 is arithmetic, and not calls."""

_DOUBLE: Final = "torch.float64"
_CPU: Final = "cpu"


def detect_in_samples(profile: Profile) -> Iterable[Finding]:
    tree = profile.steady
    lines = UserLines.of(profile)
    network = _network_in_doubles(lines, Values(profile.values))
    if network is None or not _may_be_all_of_torchs_work(profile.values):
        return
    time = LineTime(profile, lines)
    for top in tree.topmost(lambda frame: installed_package(frame.file) == "torch"):
        owner = lines.owner(top)
        if owner != NO_PARENT and lines.is_repeated(owner):
            time.add_calls(top, lines.line(owner))
    if not time.is_worth(MIN_SHARE_ON_CPU):
        return
    name, line = network
    rows = _most_rows(profile.values)
    yield Finding(
        title=f"{name} computes in double precision ({short_place(line)})",
        savings=(Saving(time.nodes, BATCHED if rows >= MANY_ROWS else REMOVABLE),),
        locations=time.locations,
        evidence=(
            time.share_spent("in torch"),
            f"the parameters of {name} were seen to be torch.float64",
        ),
        fix="Leave the network in single precision (no .double(), no torch.set_default_dtype(torch.float64)) and give it such arrays: "
        "torch.as_tensor(x, dtype=torch.float32), or observations and rewards in float32 from the start.",
        confidence=Confidence.BOUNDED,
    )


def _network_in_doubles(lines: UserLines, values: Values) -> tuple[str, Line] | None:
    """One whose parameters were seen as doubles, as written, with the line."""
    for node in lines.tree.hot_nodes() if values else ():
        frame = lines.tree.frame(node)
        if lines.is_yours(frame):
            for text, value in values.between(
                frame.file, range(frame.line, frame.line + 1)
            ).items():
                if value.is_double:
                    return text, lines.line(node)
    return None


def _most_rows(values: Sequence[SeenValue]) -> int:
    """Rows of the largest batch in doubles that was seen; 0 where none was."""
    seen = (Value([value]) for value in values if value.fields.get("dtype") == _DOUBLE)
    return max((shape[0] for value in seen if (shape := value.shape) and len(shape) > 1), default=0)


def _may_be_all_of_torchs_work(values: Sequence[SeenValue]) -> bool:
    """Tell whether what torch does may be work on doubles: no other network that is trained was seen in another precision, nor a tensor on a
    GPU, where the host's time is that of its calls.
    """
    fields = [value.fields for value in values]
    precisions = {each.get("dtype") for each in fields if each.get("optimized") == "1"}
    return precisions <= {_DOUBLE, None} and all(
        each.get("device", _CPU) == _CPU for each in fields
    )


def detect_in_trace(view: TraceView) -> Iterable[DeviceFinding]:
    kernels = kernels_named(view.trace, FP64)
    us = sum(kernel.dur for kernel in kernels)
    if view.busiest is None or not kernels or us < MIN_SHARE * view.busiest.busy_us:
        return
    yield DeviceFinding(
        title="the GPU computes in double precision",
        saved_us=Range(0.0, SAVED * us),
        evidence=(
            f"{count(len(kernels))} kernels on doubles take {duration(us)}, "
            f"{percent(us / view.busiest.busy_us)} of the time that the GPU works",
        ),
        fix="Find the first double: NumPy makes float64 arrays. torch.as_tensor(x, dtype=torch.float32), or "
        "observations and rewards in float32 from the start.",
        places=_places(view, kernels),
        causes=(),
    )


def _places(view: TraceView, kernels: Iterable[Row]) -> tuple[TracePlace, ...]:
    """Return where they were launched, those that take longest first."""
    by_launch = {kernel.args.correlation: kernel.dur for kernel in kernels}
    calls = [launch for launch in view.trace.calls if launch.args.correlation in by_launch]
    times: dict[CallSite, list[float]] = defaultdict(list)
    for call, site in zip(calls, call_sites(view.trace, calls), strict=True):
        times[site].append(by_launch[call.args.correlation])
    ranked = sorted(times.items(), key=lambda item: -sum(item[1]))
    return tuple(place(site, len(us), sum(us)) for site, us in ranked[:SHOWN_PLACES])


DETECTOR: Final = Detector(
    id="fp64",
    name="networks in double precision",
    in_samples=InSamples(detect_in_samples),
    in_trace=InTrace(detect_in_trace),
)
