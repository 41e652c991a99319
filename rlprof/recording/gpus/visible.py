"""Tell which GPUs a program may use, by the environment that it is started with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rlprof.recording.gpus.base import GpuFacts


def visible_gpus(
    gpus: Mapping[int, GpuFacts], masks: Iterable[str | None], *, in_pci_order: bool
) -> tuple[int, ...]:
    """Indices in ``gpus`` of those that the variables ``masks`` leave; None hides nothing.

    CUDA counts the fastest first unless told to count as the driver does (``in_pci_order``). Among
    unlike GPUs a plain number then says nothing here, and none is left out.
    """
    alike = len({facts.name for facts in gpus.values()}) <= 1
    left = tuple(sorted(gpus))
    for mask in masks:
        if mask is not None and (alike or in_pci_order or not _has_numbers(mask)):
            left = _chosen(mask, left, gpus)
    return left


def _chosen(mask: str, left: Sequence[int], gpus: Mapping[int, GpuFacts]) -> tuple[int, ...]:
    chosen: list[int] = []
    for entry in (part.strip() for part in mask.split(",")):
        if entry.startswith("MIG-"):
            # A slice of some GPU: the driver's figures are of the whole, which is not told here.
            return tuple(left)
        found = _of_entry(entry, left, gpus)
        if found is None:
            break  # CUDA's rule: what follows an entry that names no GPU is not seen.
        chosen.append(found)
    return tuple(dict.fromkeys(chosen))


def _of_entry(entry: str, left: Sequence[int], gpus: Mapping[int, GpuFacts]) -> int | None:
    if entry.isdecimal():
        number = int(entry)
        return left[number] if number < len(left) else None
    named = [index for index in left if entry and gpus[index].uuid.startswith(entry)]
    return named[0] if len(named) == 1 else None


def _has_numbers(mask: str) -> bool:
    return any(part.strip().isdecimal() for part in mask.split(","))
