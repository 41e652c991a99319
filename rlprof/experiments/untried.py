"""Findings that no treatment tries, and why: halves of sentences."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

RESTART: Final = "its fix needs a restart: processes and threads stay as they were started"
_TRACES: Final = "it shows in traces of a GPU, and a try takes none"

UNTRIED: Final = MappingProxyType(
    {
        **dict.fromkeys(
            (
                "cuda-in-env-workers",
                "gil-contention",
                "startup-bound",
                "worker-starved",
                "workers-in-turn",
            ),
            RESTART,
        ),
        **dict.fromkeys(
            (
                "blocked-with-idle-gpu",
                "built-on-cpu-then-moved",
                "cpu-policy-faster",
                "eager-pointwise-chains",
                "explicit-synchronize",
                "exposed-communication",
                "gpu-starved",
                "gpu-sync",
                "gradscaler-sync",
                "graph-breaks",
                "launch-bound",
                "pageable-copy",
                "rollout-round-trip",
                "tiny-copies",
            ),
            _TRACES,
        ),
        "dataset-crosses-bus": "its fix needs a restart: the data has to be made on the GPU",
        "expired-waits": "a batch that is cut short holds other requests",
        "fp64": "networks and optimizers would keep other numbers from then on",
        "hashed-keys": "a hash from memory would be that of another object",
        "memory-growth": "it costs memory, and no steps",
        "network-not-frozen": "gradients that are under way could be of use to the program",
    }
)
"""Why, by the id of the detector."""
