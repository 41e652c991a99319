"""The part of the JSON report about torch: windows of its profiler, reads of tensors, operations."""

from __future__ import annotations

from rlprof.model.report import Compute, SyncSiteRow, TorchOp, TorchWindowRow
from rlprof.renderers.json_report.values import Json, known, number


def torch_window(row: TorchWindowRow) -> dict[str, Json]:
    return {
        "pid": row.pid,
        "role": row.role,
        "kind": row.kind,
        "fate": row.fate,
        "begun_s": number(row.begun_s),
        "cost_s": number(row.cost_s),
        "left_out": row.is_left_out,
        "updates": row.updates,
        "wall_s": number(row.wall_s),
        "ops": row.ops,
        "kernel_launches": row.launches,
        "gpu_busy_share": known(row.busy_share),
        "optimizer": row.optimizer,
        "compiling_s": number(row.compiling_s),
        "gpu_idle": {cause: number(share) for cause, share in row.idle},
        "heaviest_ops": [_op(op) for op in row.top_ops],
        "heaviest_kernels": [_op(op) for op in row.top_kernels],
    }


def _op(op: TorchOp) -> dict[str, Json]:
    return {"name": op.name, "calls": op.calls, "time_s": number(op.time_s)}


def compute_of(compute: Compute | None) -> dict[str, Json] | None:
    if compute is None:
        return None
    return {
        "flops_per_update": number(compute.flops_per_update),
        "flops_per_s": number(compute.flops_per_s),
        "precision": compute.precision,
        "device": compute.device,
        "utilisation": known(compute.utilisation),
    }


def sync_site(row: SyncSiteRow) -> dict[str, Json]:
    return {
        "pid": row.pid,
        "role": row.role,
        "file": row.file,
        "line": row.line,
        "function": row.function,
        "method": row.method,
        "device": row.device,
        "calls": row.calls,
        "per_step": known(row.per_step),
        "wait_s": number(row.wait_s),
        "bytes": row.bytes,
    }
