"""Small torch traces that read like what a program did."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rlprof.device.view import TraceView, view_trace
from rlprof.tracefile.reader import read_trace

HOST = {"pid": 100, "tid": 100}
GPU = {"pid": 0, "tid": 7}


class TraceBuilder:
    """Times are µs since the start of the trace."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.header: dict[str, Any] = {
            "schemaVersion": 1,
            "deviceProperties": [
                {"id": 0, "name": "NVIDIA H100", "computeMajor": 9, "numSms": 132}
            ],
        }
        self._correlation = 0

    def on(self, name: str, compute_major: int) -> TraceBuilder:
        """The GPU that it was recorded on."""
        self.header["deviceProperties"] = [
            {"id": 0, "name": name, "computeMajor": compute_major, "totalGlobalMem": 80 << 30}
        ]
        return self

    def op(self, name: str, start: float, length: float, *, sequence: int = -1) -> TraceBuilder:
        """``sequence``: number of the op among those that autograd records."""
        args = {"Sequence number": sequence} if sequence >= 0 else {}
        return self._row("cpu_op", name, start, length, HOST, **args)

    def ops(self, names: Iterable[str], start: float, each: float = 10.0) -> TraceBuilder:
        """Ops one right after the other, of which each launches a kernel of 2 µs."""
        for number, name in enumerate(names):
            at = start + number * each
            self.op(name, at, each - 1.0).kernel(at + 1.0, at + 5.0, 2.0)
        return self

    def read(self, start: float, wait: float) -> TraceBuilder:
        """``.item()``, which waits."""
        self.op("aten::item", start, wait + 2.0)
        return self.call("cudaStreamSynchronize", start + 1.0, wait)

    def region(self, name: str, start: float, length: float) -> TraceBuilder:
        return self._row("user_annotation", name, start, length, HOST)

    def python(self, name: str, start: float, length: float) -> TraceBuilder:
        return self._row("python_function", name, start, length, HOST)

    def call(self, name: str, start: float, length: float, **args: object) -> TraceBuilder:
        return self._row("cuda_runtime", name, start, length, HOST, **args)

    def kernel(
        self,
        launched: float,
        start: float,
        length: float,
        name: str = "gemm",
        *,
        launch: float = 3.0,
    ) -> TraceBuilder:
        """A launch, of 3 µs unless told, and its kernel."""
        self._correlation += 1
        self.call("cudaLaunchKernel", launched, launch, correlation=self._correlation)
        return self._row("kernel", name, start, length, GPU, **self._on_gpu())

    def copy(
        self, kind: str, called: float, length: float, *, start: float, took: float, size: int
    ) -> TraceBuilder:
        """``kind`` as CUPTI says it: ``HtoD (Pageable -> Device)``."""
        self._correlation += 1
        self.call("cudaMemcpyAsync", called, length, correlation=self._correlation)
        name = f"Memcpy {kind}"
        return self._row("gpu_memcpy", name, start, took, GPU, bytes=size, **self._on_gpu())

    def text(self) -> str:
        return json.dumps({**self.header, "traceEvents": self.rows})

    def view(self, folder: Path) -> TraceView:
        path = folder / "trace.json"
        path.write_text(self.text())
        return view_trace(read_trace(path))

    def _on_gpu(self) -> dict[str, object]:
        return {"device": 0, "stream": 7, "correlation": self._correlation}

    def _row(
        self,
        kind: str,
        name: str,
        start: float,
        length: float,
        thread: dict[str, int],
        **args: object,
    ) -> TraceBuilder:
        row = {"ph": "X", "cat": kind, "name": name, "ts": start, "dur": length, **thread}
        self.rows.append({**row, "args": args})
        return self


def a_trace() -> TraceBuilder:
    return TraceBuilder()
