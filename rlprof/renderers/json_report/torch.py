"""The part of the JSON report about torch: windows of its profiler, reads of tensors, operations."""

from __future__ import annotations

from rlprof.model.report import Compute, SyncSiteRow, TorchWindowRow
from rlprof.renderers.json_report import document


def torch_window(row: TorchWindowRow) -> document.TorchWindow:
    return document.TorchWindow(
        pid=row.pid,
        role=row.role,
        kind=row.kind,
        fate=row.fate,
        begun_s=row.begun_s,
        cost_s=row.cost_s,
        left_out=row.is_left_out,
        updates=row.updates,
        wall_s=row.wall_s,
        ops=row.ops,
        kernel_launches=row.launches,
        gpu_busy_share=row.busy_share,
        optimizer=row.optimizer,
        compiling_s=row.compiling_s,
        gpu_idle=dict(row.idle),
        heaviest_ops=[document.Operation(*op) for op in row.top_ops],
        heaviest_kernels=[document.Operation(*op) for op in row.top_kernels],
    )


def compute_of(compute: Compute | None) -> document.Compute | None:
    if compute is None:
        return None
    return document.Compute(
        flops_per_update=compute.flops_per_update,
        flops_per_s=compute.flops_per_s,
        precision=compute.precision,
        device=compute.device,
        utilisation=compute.utilisation,
    )


def sync_site(row: SyncSiteRow) -> document.SyncSite:
    return document.SyncSite(
        pid=row.pid,
        role=row.role,
        file=row.file,
        line=row.line,
        function=row.function,
        method=row.method,
        device=row.device,
        calls=row.calls,
        per_step=row.per_step,
        wait_s=row.wait_s,
        bytes=row.bytes,
    )
