"""Does something for every process, then runs the one that it hides, as some tools do."""

import builtins
import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

here = os.path.dirname(os.path.abspath(__file__))
others = [entry for entry in sys.path if os.path.abspath(entry) != here]
spec = PathFinder.find_spec("sitecustomize", others)
if spec is not None and spec.loader is not None:
    spec.loader.exec_module(module_from_spec(spec))
builtins.RAN = getattr(builtins, "RAN", 0) + 1
