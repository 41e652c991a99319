"""Tell what a report shows of torch: the windows of its profiler, and where tensors are read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from rlprof.device.flops import count_flops
from rlprof.device.peaks import mfu
from rlprof.device.torch_windows import UPDATE_KINDS, WindowView
from rlprof.device.view import TraceView
from rlprof.model.counters import KERNEL_LAUNCHES
from rlprof.model.device import IdleCause
from rlprof.model.profile import Profile
from rlprof.model.recording import SyncSite
from rlprof.model.report import Compute, SyncSiteRow, TorchOp, TorchWindowRow
from rlprof.tracefile.reader import read_shapes

MOST_SITES: Final = 20
"""Places where tensors are read, in a report."""

MOST_OPS: Final = 10
"""Operations of a window, in a report."""


def window_rows(
    windows: Sequence[WindowView], profile: Profile, begun_us: Sequence[int], *, left_out: bool
) -> tuple[TorchWindowRow, ...]:
    """``begun_us`` is when each began, on the clock of the phases; ``left_out``: whether the figures of the report are without the windows."""
    return tuple(
        _window_row(window, profile, begun, is_left_out=left_out)
        for window, begun in zip(windows, begun_us, strict=True)
    )


def site_rows(
    sites: Sequence[SyncSite], profile: Profile, total_steps: float
) -> tuple[SyncSiteRow, ...]:
    """The places that wait longest, then those that read most often, over all processes: a row for each process that reads there."""
    at_place: dict[tuple[str, int, str, str], list[SyncSite]] = defaultdict(list)
    for site in sites:
        at_place[site.file, site.line, site.method, site.device].append(site)
    places = sorted(
        at_place.items(),
        key=lambda item: (
            -sum(site.wait_us for site in item[1]),
            -sum(site.calls for site in item[1]),
            item[0],
        ),
    )
    ordered = [
        site
        for _, own in places[:MOST_SITES]
        for site in sorted(own, key=lambda site: (-site.wait_us, -site.calls, site.process))
    ]
    return tuple(
        SyncSiteRow(
            pid=profile.processes[site.process].pid,
            role=profile.process_roles[site.process],
            file=site.file,
            line=site.line,
            function=site.function,
            method=site.method,
            device=site.device,
            calls=site.calls,
            per_step=site.calls / total_steps if total_steps else None,
            wait_s=site.wait_us / 1e6,
            bytes=site.bytes,
        )
        for site in ordered
    )


def launches_per_step(windows: Sequence[WindowView], profile: Profile) -> Mapping[str, float]:
    """Kernels that updates launch, per step of the run; nothing where no GPU was used.

    From windows that begin and end at updates, so launches between them are not in it.
    """
    if not profile.steady_steps:
        return {}
    total = 0.0
    for process in {window.window.process for window in windows}:
        own = [
            window.view.kernels.launches / window.window.updates
            for window in windows
            if window.window.process == process
            and window.window.kind in UPDATE_KINDS
            and window.view is not None
            and window.window.updates
        ]
        if own:
            updates = profile.process_counts.get(process, {}).get("updates", 0.0)
            total += updates * sum(own) / len(own)
    return {KERNEL_LAUNCHES: total / profile.steady_steps} if total else {}


def compute_of(windows: Sequence[WindowView], profile: Profile) -> Compute | None:
    """From the windows with shapes, one for each process that has such; the first is shown."""
    found = [
        (window, flops)
        for window in windows
        if window.view is not None
        and window.window.kind == "stacks"
        and window.window.updates
        and (flops := count_flops(read_shapes(window.window.trace))) is not None
    ]
    if not found or not profile.steady_us:
        return None
    per_s = sum(
        flops.count
        / window.window.updates
        * profile.process_counts.get(window.window.process, {}).get("updates", 0.0)
        / (profile.steady_us / 1e6)
        for window, flops in found
    )
    first, flops = found[0]
    assert first.view is not None, "flops are counted in views"
    devices = {device.id: device.name for device in first.view.trace.header.devices}
    used = first.view.busiest
    name = devices.get(used.id, "") if used is not None else ""
    own_per_s = per_s / len(found)
    return Compute(
        flops_per_update=flops.count / first.window.updates,
        flops_per_s=per_s,
        precision=flops.precision or "",
        device=name,
        utilisation=mfu(own_per_s, name, flops.precision) if name and flops.precision else None,
    )


def _window_row(
    viewed: WindowView, profile: Profile, begun_us: int, *, is_left_out: bool
) -> TorchWindowRow:
    window, view = viewed.window, viewed.view
    optimizer = view.optimizer if view is not None else None
    return TorchWindowRow(
        pid=profile.processes[window.process].pid,
        role=profile.process_roles[window.process],
        kind=window.kind,
        fate=window.fate if view is not None or window.fate != "written" else "unreadable",
        begun_s=begun_us / 1e6,
        cost_s=(window.ended_us - window.begun_us) / 1e6,
        is_left_out=is_left_out,
        updates=window.updates,
        wall_s=view.wall.length / 1e6 if view is not None else 0.0,
        ops=len(view.trace.ops) if view is not None else 0,
        launches=view.kernels.launches if view is not None else 0,
        busy_share=view.busy_share if view is not None and view.has_device else None,
        optimizer=f"{optimizer.name} ({optimizer.kind.value})" if optimizer is not None else "",
        compiling_s=view.compiling.compiling_us / 1e6 if view is not None else 0.0,
        idle=_idle(view) if view is not None else (),
        top_ops=_heaviest_ops(view) if view is not None else (),
        top_kernels=_heaviest_kernels(view) if view is not None else (),
    )


def _idle(view: TraceView) -> tuple[tuple[str, float], ...]:
    """Return the idle shares of the busiest device, so that its causes and its busy share add up to the trace."""
    busiest = view.busiest
    if busiest is None or not view.has_device or not view.wall.length:
        return ()
    idle = next(device_idle for device_idle in view.idle if device_idle.device == busiest.id)
    shares = [(cause.value, idle.us(cause) / view.wall.length) for cause in IdleCause]
    return tuple(pair for pair in shares if pair[1] > 0)


def _heaviest_ops(view: TraceView) -> tuple[TorchOp, ...]:
    times: dict[str, list[float]] = defaultdict(list)
    for op in view.outermost_ops:
        times[op.name].append(op.dur)
    ranked = sorted(times.items(), key=lambda pair: (-sum(pair[1]), pair[0]))[:MOST_OPS]
    return tuple(TorchOp(name, len(us), sum(us) / 1e6) for name, us in ranked)


def _heaviest_kernels(view: TraceView) -> tuple[TorchOp, ...]:
    if not view.has_device:
        return ()
    return tuple(TorchOp(name, count, us / 1e6) for name, count, us in view.kernels.heaviest)
