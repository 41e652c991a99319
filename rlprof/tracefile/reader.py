"""Read a torch.profiler trace: of any version of torch since 1.8, of NVIDIA and AMD devices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from rlprof.errors import TraceError
from rlprof.inputs import open_input
from rlprof.model.trace import DeviceProperties, Row, Trace, TraceHeader
from rlprof.tracefile.packing import (
    MOST_BYTES,
    MOST_BYTES_IN_A_RUN,
    NotATraceError,
    TooLargeError,
    content_in,
    content_of,
    repaired,
)
from rlprof.tracefile.regions import LOADER, OPTIMIZER, PROFILER_STEP
from rlprof.units import size

_OLD_KINDS: Final = {
    "Operator": "cpu_op",
    "Runtime": "cuda_runtime",
    "Kernel": "kernel",
    "Memcpy": "gpu_memcpy",
    "Memset": "gpu_memset",
    "Python": "python_function",
}
"""Categories of torch 1.8 to 1.11."""

_KINDS: Final = {
    "cpu_op": "ops",
    "user_annotation": "annotations",
    "cuda_runtime": "calls",
    "cuda_driver": "calls",
    "python_function": "python",
    "kernel": "kernels",
    "gpu_memcpy": "copies",
    "gpu_memset": "memsets",
}

_REGIONS: Final = (PROFILER_STEP, OPTIMIZER, LOADER)
"""Old traces have these among the ops."""


_MOST_US: Final = 2.0**63
"""No clock shows more, and sums of such times are numbers still."""

_NOT_UNDERSTOOD: Final = (msgspec.ValidationError, UnicodeEncodeError)
"""The second of half a surrogate where a number is to be."""


class _File(msgspec.Struct):
    """The whole of a trace; free keys beside it are of the program that wrote it."""

    rows: list[Row] = msgspec.field(name="traceEvents")
    devices: Any = msgspec.field(default=(), name="deviceProperties")
    with_stack: Any = 0
    hip_runtime: Any = msgspec.field(default=None, name="hip_runtime_version")
    hip_driver: Any = msgspec.field(default=None, name="hip_driver_version")


_FILE_DECODER: Final = msgspec.json.Decoder(_File)
_ROWS_DECODER: Final = msgspec.json.Decoder(list[Row])


def read_trace(path: Path) -> Trace:
    """The trace in ``path``, plain or gzipped; of a damaged one, as much as can be told.

    Raises :class:`TraceError` when it cannot be read, is no trace, or is larger than
    ``MOST_BYTES``.
    """
    try:
        with open_input(path) as file:
            trace = _read(file, str(path), MOST_BYTES)
    except OSError as error:
        raise TraceError(
            f"cannot read the trace {path}: {error.strerror or error}",
            slug="trace-missing",
            hint="give the path of a file that torch.profiler's export_chrome_trace() wrote",
        ) from error
    if not trace.rows:
        raise _not_a_trace(str(path), "it has no events")
    return trace


def read_trace_in(packed: bytes, name: str) -> Trace:
    """The same for a window in a run file; ``name`` says which in the error."""
    return _read(BytesIO(packed), name, MOST_BYTES_IN_A_RUN)


def _read(file: BinaryIO, name: str, most_bytes: int) -> Trace:
    try:
        data, damage = content_of(file, most_bytes)
        if not data.strip():
            raise NotATraceError("it is empty")
        understood, repairs = _understood(data)
    except TooLargeError as error:
        raise TraceError(
            f"the trace {name} is larger than {size(most_bytes)}",
            slug="trace-too-large",
            hint="profile 5 to 20 steps, with stacks in one short window only "
            "(`torch.profiler.schedule(active=5)`)",
        ) from error
    except NotATraceError as error:
        raise _not_a_trace(name, str(error)) from error
    return _trace_of(understood, (*damage, *repairs), len(data))


def _understood(data: bytes) -> tuple[_File, tuple[str, ...]]:
    """Raises :class:`NotATraceError`."""
    try:
        return _decoded_or_repaired(data)
    except RecursionError as error:
        raise NotATraceError("it nests too deeply") from error


def _decoded_or_repaired(data: bytes) -> tuple[_File, tuple[str, ...]]:
    try:
        return _decoded(data), ()
    except (msgspec.DecodeError, UnicodeDecodeError):
        repair = repaired(data)
        return _converted(repair.document), repair.damage


def _decoded(data: bytes) -> _File:
    """Raises ``msgspec.DecodeError`` where it is not JSON, :class:`NotATraceError`."""
    is_list = data.lstrip()[:1] == b"["
    try:
        if is_list:
            return _File(rows=_ROWS_DECODER.decode(data))
        return _FILE_DECODER.decode(data)
    except msgspec.ValidationError:
        # A value of an unusual type somewhere: slower, row by row.
        return _converted(msgspec.json.decode(data))


def _converted(document: object) -> _File:
    """Raises :class:`NotATraceError`."""
    rows = document if isinstance(document, list) else None
    if isinstance(document, dict):
        rows = document.get("traceEvents")
    if not isinstance(rows, list):
        raise NotATraceError("it has no list of traceEvents")
    header = document if isinstance(document, dict) else {}
    known = {field.encode_name for field in msgspec.structs.fields(_File)} - {"traceEvents"}
    file = msgspec.convert(
        {"traceEvents": [], **{name: header[name] for name in known if name in header}}, _File
    )
    file.rows = [row for row in map(_row, rows) if row is not None]
    if rows and not file.rows:
        raise NotATraceError("none of its rows is an event")
    return file


def _row(value: object) -> Row | None:
    """A row with what of it can be understood."""
    if not isinstance(value, dict):
        return None
    try:
        return msgspec.convert(value, Row, strict=False)
    except _NOT_UNDERSTOOD:
        pass
    try:
        return msgspec.convert({**value, "args": {}}, Row, strict=False)
    except _NOT_UNDERSTOOD:
        return None


def _trace_of(file: _File, damage: tuple[str, ...], length: int) -> Trace:
    kinds: dict[str, list[Row]] = defaultdict(list)
    for row in file.rows:
        # JSON can say 1e999, which is no time, and 1e308, of which the sum of two is none.
        is_timed = row.ph == "X" and abs(row.ts) < _MOST_US and abs(row.dur) < _MOST_US
        if is_timed and (kind := _KINDS.get(row.cat) or _old_kind(row)):
            kinds[kind].append(row)
    in_order = {kind: _by_start(rows) for kind, rows in kinds.items()}
    return Trace(
        header=_header(file, in_order.get("calls", ())),
        rows=len(file.rows),
        damage=damage,
        source_bytes=length,
        **in_order,
    )


def _old_kind(row: Row) -> str:
    """The field of ``Trace`` that a row of old torch belongs to; empty for those that nobody asks for."""
    kind = _KINDS.get(_OLD_KINDS.get(row.cat, ""), "")
    return "annotations" if kind == "ops" and row.name.startswith(_REGIONS) else kind


def _by_start(rows: list[Row]) -> list[Row]:
    """Callers before what they call that starts in the same moment."""
    rows.sort(key=attrgetter("ts"))
    # Rows that start together are rare where times have fractions: only then is the length asked for.
    if any(row.ts == before.ts and row.dur > before.dur for before, row in pairwise(rows)):
        rows.sort(key=lambda row: (row.ts, -row.dur))
    return rows


def _header(file: _File, calls: Sequence[Row]) -> TraceHeader:
    found = [mapping for mapping in _mappings(file.devices) if isinstance(mapping.get("id"), int)]
    rocm = file.hip_runtime is not None or file.hip_driver is not None
    return TraceHeader(
        devices=tuple(_device(mapping) for mapping in found),
        with_stack=bool(file.with_stack),
        is_rocm=rocm or any(call.name.startswith("hip") for call in calls),
    )


def _mappings(value: object) -> Iterable[Mapping[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _device(properties: Mapping[str, Any]) -> DeviceProperties:
    return DeviceProperties(
        id=properties["id"],
        name=str(properties.get("name", "")),
        compute_major=_whole(properties.get("computeMajor")),
    )


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


def _not_a_trace(name: str, reason: str) -> TraceError:
    return TraceError(
        f"{name} is not a torch.profiler trace: {reason}",
        slug="not-a-trace",
        hint="give a file that torch.profiler's export_chrome_trace() wrote, .json or .json.gz",
    )


# --- ops with the shapes of their inputs: half of such a trace, which is asked for to count operations alone ---

_NONE = msgspec.Raw()


class ShapedArgs(msgspec.Struct, frozen=True):
    """As written: decoded by whoever asks for one."""

    shapes: msgspec.Raw = msgspec.field(default=_NONE, name="Input Dims")
    types: msgspec.Raw = msgspec.field(default=_NONE, name="Input type")
    concrete: msgspec.Raw = msgspec.field(default=_NONE, name="Concrete Inputs")
    """Inputs that are no tensors: the stride of a convolution, for instance."""


class ShapedOp(msgspec.Struct, frozen=True):
    """A row with what is needed to count its operations."""

    name: str = ""
    args: ShapedArgs = ShapedArgs()


class _ShapedFile(msgspec.Struct):
    rows: list[ShapedOp] = msgspec.field(default_factory=list, name="traceEvents")


_SHAPES_DECODER = msgspec.json.Decoder(_ShapedFile)


def read_shapes(packed: bytes) -> list[ShapedOp]:
    """All rows of a gzipped trace; none of one that is damaged."""
    try:
        return _SHAPES_DECODER.decode(content_in(packed)).rows
    except (NotATraceError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
