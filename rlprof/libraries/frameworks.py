"""Libraries that compute, besides torch and numpy: other frameworks, their networks, and code that runs in C for its caller."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import EVERYTHING, Duty, Library

JAX: Final = Library(
    name="JAX",
    packages=("jax",),
    samples=("_src/compiler.py",),
    is_launcher=True,
    is_framework=True,
    does_callers_work=True,
    has_thread_teams=True,
    compilers=r"_src/compiler\.py$",
)
"""JAX, without jaxlib, which starts no one's code."""
JAX_NETWORKS: Final = Library(
    name="Flax, Haiku and Equinox",
    packages=("flax",),
    also=("equinox", "haiku"),
    samples=("linen/module.py", "training/checkpoints.py"),
    policy=EVERYTHING,
    duties={r"linen/module\.py$": {"apply": Duty.ASKS_NETWORK}},
    saving=r"training/checkpoints\.py$",
    is_framework=True,
)
"""Flax, Haiku and Equinox: networks for JAX."""
KERAS: Final = Library(
    name="Keras",
    also=("keras",),
    drives=EVERYTHING,
    is_framework=True,
)
NUMERIC: Final = Library(
    name="Numba, numexpr, OpenCV and jaxlib",
    packages=("cv2", "jaxlib", "numba", "numexpr"),
    does_callers_work=True,
    has_thread_teams=True,
)
"""Other libraries that compute in C for the line that called them."""
TENSORDICT: Final = Library(
    name="TensorDict",
    packages=("tensordict",),
    samples=("nn/common.py",),
    policy="nn/",
    is_framework=True,
)
TENSORFLOW: Final = Library(
    name="TensorFlow",
    packages=("tensorflow",),
    is_framework=True,
    has_thread_teams=True,
)
TINYGRAD: Final = Library(
    name="tinygrad",
    also=("tinygrad",),
    is_framework=True,
)
