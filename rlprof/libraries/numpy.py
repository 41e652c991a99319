"""NumPy."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import ANY, EVERYTHING, Access, Library, Sink, SlowCall
from rlprof.model.finding import Range

INVERTED: Final = SlowCall(
    "a matrix is inverted again and again",
    "Where a row or an outer product is added each time, keep the inverse up to date (Sherman and Morrison: A -= outer(y, y) / (1 + x @ y) "
    "with y = A @ x). Where the inverse is only multiplied with, take np.linalg.solve. Where the matrix stays, keep the inverse with it.",
    # An inverse that is multiplied with a matrix, or of a matrix that comes anew each time, has no cheaper way.
    Range(0.0, 0.97),
    # 8 × 8: of smaller ones nearly all of the time is the call, whatever takes its place.
    from_numbers=64,
)
_EACH_NUMBER: Final = SlowCall(
    "np.vectorize is a loop in Python",
    "Write it with operations on whole arrays (arithmetic, np.where, np.clip): np.vectorize calls a Python function for each number.",
    Range(0.2, 0.99),
    calls_yours=True,
)
_EACH_ROW: Final = SlowCall(
    "np.apply_along_axis is a loop in Python",
    "Hand all rows at once to what has an axis (mean, sort, argmax), or write it with operations on whole arrays: np.apply_along_axis calls a "
    "Python function for each row. Where there is only a function of one row, a plain loop does the same a little faster.",
    Range(0.0, 0.98),
    calls_yours=True,
)
_TEXT: Final = SlowCall(
    "arrays are made into text",
    "As a key of a dictionary take array.tobytes(), or a tuple of its numbers; for output make the text only of what is shown.",
    Range(0.8, 1.0),
)
_NORMAL_VECTOR: Final = SlowCall(
    "normal vectors are drawn one by one",
    "Each draw takes the covariance apart anew. Draw all at once (size=n), or keep its factor, L = np.linalg.cholesky(covariance), and take "
    'mean + L @ rng.standard_normal(d): the same distribution, other numbers for a seed. Where it changes each time, method="cholesky".',
    # Where each draw has a covariance of its own the factor is computed, too.
    Range(0.6, 0.98),
    # By Cholesky's method a draw of 4 to 40 numbers takes a quarter to a tenth of the default one's 80 to 340 µs.
    many_by=("size", "method"),
)
_IDENTITY: Final = SlowCall(
    "an identity matrix is made for a few rows",
    "Make it once (rows = np.eye(n)) and take rows[i], rows[i].copy() where the row is written to, or set one number of np.zeros(n). "
    "A linear function of such a row is a look-up: weights[i] in place of weights @ row.",
    Range(0.9, 1.0),
    for_items=True,
)
_GENERATOR: Final = SlowCall(
    "a random generator is made again and again",
    "Make it once (self.rng = np.random.default_rng(seed)) and draw from it.",
    Range(0.9, 1.0),
    of_its_seed=True,
)

_FILES: Final = r"lib/_?npyio(_impl)?\.py$"

LIBRARY: Final = Library(
    name="NumPy",
    packages=("numpy",),
    samples=(
        "_core/arrayprint.py",
        "_core/numeric.py",
        "lib/_function_base_impl.py",
        "lib/_twodim_base_impl.py",
        "lib/npyio.py",
        "lib/shape_base.py",
        "linalg/_linalg.py",
    ),
    slow_calls={
        r"linalg/_?linalg\.py$": dict.fromkeys(("inv", "pinv"), INVERTED),
        r"lib/(function_base|_function_base_impl)\.py$": dict.fromkeys(
            ("__call__", "_vectorize_call"), _EACH_NUMBER
        ),
        r"lib/_?shape_base(_impl)?\.py$": {"apply_along_axis": _EACH_ROW},
        r"lib/_?twodim_base(_impl)?\.py$": {"eye": _IDENTITY},
        r"_?core/numeric\.py$": {"identity": _IDENTITY},
        r"_?core/arrayprint\.py$": {ANY: _TEXT},
    },
    slow_in_c=dict.fromkeys(
        (
            "numpy.random.default_rng",
            "numpy.random._generator.default_rng",
            "numpy.random.mtrand.RandomState",
            "numpy.random.seed",
            "numpy.random.mtrand.RandomState.seed",
        ),
        _GENERATOR,
    )
    | dict.fromkeys(
        (
            "numpy.random._generator.Generator.multivariate_normal",
            "numpy.random.mtrand.RandomState.multivariate_normal",
            "numpy.random.multivariate_normal",
        ),
        _NORMAL_VECTOR,
    ),
    sinks={Sink.FILES: _FILES},
    accesses={Access.READ: _FILES},
    saving=r"lib/(npyio|_npyio_impl|format|_format_impl)\.py$",
    makes_text=EVERYTHING,
    does_callers_work=True,
    has_thread_teams=True,
)
