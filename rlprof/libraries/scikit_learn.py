"""scikit-learn."""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import ANY, EVERYTHING, Library, SlowCall
from rlprof.model.finding import Range

_FEW_ROWS: Final = SlowCall(
    "scikit-learn is asked for a few rows",
    "Ask for all rows and all actions at once, or compute it in numpy: of a linear model x @ model.coef_ + model.intercept_. "
    "sklearn.set_config(assume_finite=True, skip_parameter_validation=True) leaves some of the checks out.",
    Range(0.6, 0.98),
    checks=r"/sklearn/(base|_config|externals/.*|utils/\w*(valid|array_api|tags|dataframe|dependencies)\w*)\.py$|/inspect\.py$",
)

LIBRARY: Final = Library(
    name="scikit-learn",
    packages=("sklearn",),
    slow_calls={EVERYTHING: {ANY: _FEW_ROWS}},
    has_thread_teams=True,
)
