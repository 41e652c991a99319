"""Stand in for the empty entry that ``PYTHONPATH`` would have without rlprof.

``PYTHONPATH=$PYTHONPATH:lib`` is ``:lib`` where it was not set, and Python takes an empty entry for the working directory. With us it has
our folder in that place. So has ``${PYTHONPATH:+$PYTHONPATH:}lib``, which would be ``lib`` alone, and nothing tells one from
the other: what a program may not have asked for must change nothing that it finds without it.
"""

from __future__ import annotations

import os
import sys

from . import moved_imports


def stand_in() -> None:
    """Append the working directory to the path: what would not have been found is looked for there. Raises OSError."""
    folder = os.getcwd()
    if folder in sys.path or _is_of_the_program(folder) or _hides_what_is_installed(folder):
        return
    sys.path.append(folder)


def _is_of_the_program(folder: str) -> bool:
    """Tell whether ``folder`` is what Python is about to put first: with both, packages in it would have two places."""
    if getattr(sys.flags, "safe_path", False):  # Which is from Python 3.11 on.
        return False
    program = sys.argv[0]
    # Of a folder or an archive that is run it is that itself.
    is_script = program.endswith(".py") and os.path.isfile(program)
    return program == "-m" or (is_script and os.path.dirname(os.path.realpath(program)) == folder)


def _hides_what_is_installed(folder: str) -> bool:
    """Tell whether something in it bears the name of what is installed editable from elsewhere.

    Finders of such stand behind the whole path, and any folder is a package: a clone in the working directory often has the
    name of the package within.
    """
    for table in moved_imports.redirections():
        for module, place in table.items():
            top = os.path.join(folder, module.partition(".")[0])
            if os.path.isdir(top) or os.path.isfile(top + ".py"):
                found = os.path.realpath(os.path.join(folder, *module.split(".")))
                places = [place] if isinstance(place, str) else place
                if any(os.path.realpath(_without_ending(each)) != found for each in places):
                    return True
    return False


def _without_ending(place: str) -> str:
    name = place[: -len(".py")] if place.endswith(".py") else place
    return os.path.dirname(name) if os.path.basename(name) == "__init__" else name
