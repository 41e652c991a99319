"""Tell what a call of a library does, by what was seen there and by its name: compute, change its object, show something, or anything else."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Final

from rlprof.source.slices.model import Doing
from rlprof.source.values import Values, callee, value_of
from rlprof.syntax.imports import full_name
from rlprof.syntax.module import SourceModule, called_name, receiver
from rlprof.syntax.pure_calls import (
    draws_at_random,
    is_built_in,
    is_computing_method,
    is_drawing_method,
    is_in_place,
    only_computes,
    writes_by_argument,
)

_TELLS: Final = re.compile(
    r"(logging|warnings|tqdm|rich|loguru|structlog|absl\.logging|csv|json|pprint|sys\.(stdout|stderr)|numpy\.save(z|z_compressed|txt)?|"
    r"os\.(replace|rename|fsync|fdatasync|sync|write))\b"
)
"""Libraries that show and log, and functions that save arrays, and that write files or put them in place."""

_TELLING_METHODS: Final = re.compile(
    r"log|debug|info|warning|error|exception|critical|set_postfix(_str)?|set_description(_str)?|write|writerows?|writelines|flush|print|open|close|to_csv"
)

_WRITES: Final = re.compile(
    r"dump|writer|DictWriter|write|writerows?|writelines|open|save\w*|to_csv|replace|rename"
)
_READS: Final = re.compile(r"loads?|loadtxt|memmap|reader|DictReader|read\w*|fromfile|genfromtxt")
"""Calls that read a file: what is written may come back by it, in another process."""

_TAKES_FIGURES: Final = re.compile(
    r"(wandb|mlflow|neptune|comet_ml|aim|tensorboardX?|torch\.utils\.tensorboard|matplotlib|seaborn|plotly|stable_baselines3\.common\.logger)\b"
)
"""Libraries for curves, which give nothing back that a training would go by."""

_LOGGERS: Final = {"stable_baselines3": "logger"}
"""Attributes in which objects of a library's classes, and of those derived from them, have such a logger."""

_FIGURE_METHODS: Final = re.compile(
    r"add_(scalars?|histogram|text|figure|images?|video|hparams|distribution)|log_metrics?|log_scalar|log_dict"
)

_COMPUTES: Final = re.compile(
    r"time\.(time|perf_counter|monotonic|process_time)(_ns)?|os\.path\.\w+|torch\.(distributions\.[\w.]+|no_grad|inference_mode|Generator|"
    r"nn\.utils\.parameters_to_vector|nn\.functional\.\w+(?<!_))|datetime\.[\w.]+|gc\.get_\w+|sys\.(getsizeof|getrefcount)|"
    r"pandas\.(DataFrame|Series|Index|concat|merge|cut|qcut|crosstab|pivot_table|isna|isnull|notna|notnull|unique)"
)

_COMPUTING_METHODS: Final = re.compile(
    r"parameters|named_parameters|state_dict|modules|named_modules|children|named_children|buffers|named_buffers|element_size|data_ptr|"
    r"log_prob|entropy|unbind|is_contiguous|isoformat|most_common|bit_length|nanmean|histc|kl_divergence"
)

_OF_TABLES: Final = re.compile(
    r"agg|aggregate|corr|corrwith|cov|cumcount|describe|dropna|ewm|expanding|fillna|groupby|idxmax|idxmin|kurt|kurtosis|nlargest|nsmallest|"
    r"notna|isna|nunique|pct_change|pivot_table|rank|reset_index|rolling|sem|set_index|skew|sort_index|sort_values|to_dict|to_numpy|value_counts"
)
"""Methods of pandas' tables, columns and groups that give new ones, but for ``inplace=True``."""

_PURE_BUILT_IN: Final = re.compile(
    r"iter|hasattr|callable|id|hash|repr|ord|chr|format|super|type|object|issubclass"
)


class CallJudge:
    """Judges calls in the files of one run."""

    def __init__(self, modules: Mapping[str, SourceModule], values: Values) -> None:
        self._modules = modules
        self._values = values
        self._anywhere = {file: values.within(file) for file in modules}
        self._reads_files = any(
            _READS.fullmatch(called_name(node))
            for module in modules.values()
            for node in ast.walk(module.tree)
            if isinstance(node, ast.Call)
        )

    def __call__(self, file: str, call: ast.Call) -> Doing:
        doing = self._of(file, call)
        may_come_back = self._reads_files and _WRITES.fullmatch(called_name(call))
        return Doing.ACTS if doing is Doing.TELLS and may_come_back else doing

    def _of(self, file: str, call: ast.Call) -> Doing:
        module = self._modules[file]
        known = self._values.between(file, range(call.lineno, (call.end_lineno or call.lineno) + 1))
        value = value_of(call.func, known) or value_of(call.func, self._anywhere[file])
        if value is not None and value.is_network:
            return Doing.ASKS
        if (name := full_name(call.func, module.imports)) and (doing := _of_library(name)):
            return doing
        # What was seen may be a method, torch.Tensor.backward, which its library's name says nothing of.
        if (doing := _of_shown(callee(call, known, module).name)) is not None:
            return doing
        if isinstance(call.func, ast.Name):
            return _of_built_in(call.func.id)
        if _is_of_a_logger(call.func, module):
            return Doing.COMPUTES
        if _OF_TABLES.fullmatch(called_name(call)):
            return Doing.CHANGES if writes_by_argument(call) else Doing.COMPUTES
        return Doing.ACTS if _may_wait(call) else _of_method(called_name(call))


def _is_of_a_logger(method: ast.expr, module: SourceModule) -> bool:
    """Tell whether it is one of what a class derives from its library as a logger: ``self.logger.record`` in a callback."""
    match method:
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id="self"), attr=attribute)) if (
            attribute in _LOGGERS.values()
        ):
            function = module.function_at(method.lineno)
            name = function.class_name.rpartition(".")[2] if function is not None else ""
            bases = (
                full_name(base, module.imports)
                for node in ast.walk(module.tree)
                if isinstance(node, ast.ClassDef) and node.name == name
                for base in node.bases
            )
            return any(_LOGGERS.get(base.partition(".")[0]) == attribute for base in bases)
    return False


def _may_wait(call: ast.Call) -> bool:
    """Tell whether a method with a name of texts and dictionaries is more likely a queue's or a thread's."""
    name = called_name(call)
    return (name == "get" and not call.args) or (
        name == "join" and not isinstance(receiver(call), ast.Constant)
    )


def _of_library(name: str) -> Doing | None:
    """Return what a function does by its whole name; None where it is a method of an object that tells more."""
    if only_computes(name) or draws_at_random(name) or _COMPUTES.fullmatch(name):
        return Doing.COMPUTES
    return _of_shown(name)


def _of_shown(name: str) -> Doing | None:
    """The same of what is there to show something."""
    if _TAKES_FIGURES.match(name):
        return Doing.COMPUTES
    return Doing.TELLS if _TELLS.match(name) else None


def _of_built_in(name: str) -> Doing:
    if is_built_in(name) or _PURE_BUILT_IN.fullmatch(name):
        return Doing.COMPUTES
    return Doing.TELLS if name in ("print", "open") else Doing.ACTS


def _of_method(name: str) -> Doing:
    if is_in_place(name):
        return Doing.CHANGES
    if is_computing_method(name) or is_drawing_method(name) or _COMPUTING_METHODS.fullmatch(name):
        return Doing.COMPUTES
    if _FIGURE_METHODS.fullmatch(name):
        return Doing.COMPUTES
    return Doing.TELLS if _TELLING_METHODS.fullmatch(name) else Doing.ACTS
