"""Questions to the libraries that several modules ask.

Not in ``known``: it takes milliseconds to compile their patterns, and ``rlprof run`` needs none.
"""

from __future__ import annotations

from typing import Final

from rlprof.libraries.base import Sink
from rlprof.libraries.known import files_of, functions_of, packages_of

duty_of: Final = functions_of(lambda library: library.duties)
"""Duty of a function of a library, by its frame."""

transport_of: Final = functions_of(lambda library: library.transport)
"""Work that it does to get data from one process to another."""

slow_call_of: Final = functions_of(lambda library: library.slow_calls)
"""Cheaper way that there is in a loop."""

is_pool: Final = files_of(lambda library: library.pools)
"""True for files of pools that tasks are handed to."""

is_policy_file: Final = files_of(lambda library: library.policy)
"""True for files of networks and distributions."""

is_of_log_records: Final = files_of(lambda library: library.sinks.get(Sink.RECORDS))
"""True for files of libraries that write log records."""

is_framework: Final = packages_of(lambda library: library.is_framework)
"""True for packages that networks are made of."""
