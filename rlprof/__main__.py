"""``python -m rlprof``, the same as ``rlprof``."""

from __future__ import annotations

from rlprof.entry import main

if __name__ == "__main__":
    main()
