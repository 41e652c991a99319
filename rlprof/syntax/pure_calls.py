"""Calls of libraries and built-in functions that only compute, and those whose result is new: what a pure computation may use."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from typing import Final

from rlprof.syntax.imports import stands_for
from rlprof.syntax.nodes import given_by_name, given_to

_COMPUTE: Final = re.compile(
    r"(numpy|torch|math|cmath|scipy|itertools|functools|operator|statistics|bisect|collections|copy|string|fractions|re)\b"
)
"""Libraries whose functions compute, but for ``_DO_MORE``."""

_DO_MORE: Final = re.compile(
    r"\.(random|rand\w*|normal|bernoulli|multinomial|poisson|\w*dropout\w*|rrelu\w*|gumbel_softmax|fractional_\w+|kmeans\w*|"
    r"batch_norm|instance_norm|scaled_dot_product_attention|save\w*|load\w*|\w*memmap|from_?file|fromregex|genfromtxt|nn\.(?!functional)\w+|"
    r"optim|autograd|cuda|distributed|distributions|multiprocessing|utils|hub|jit|compile|profiler|\w*seed|\w*Generator|\w*binomial|"
    r"get_\w+|set_\w+|use_\w+|ops|library|setitem|delitem|methodcaller|call|is_\w+enabled|shuffle|stats|optimize|io|count|cycle|islice|tee|takewhile|dropwhile|lru_cache|cache|cached_property|insort\w*|copyto|put\w*|"
    r"fill_diagonal|place|at|empty|empty_like|printoptions|seterr|errstate)\b|_$"
)
"""Functions that draw at random, keep something, ask for it, change what they are given, or give memory as it lies."""

_DRAWS: Final = re.compile(
    r"(numpy\.random|random)\.(?!seed|set_state|setstate)\w+|torch\.(rand\w*|normal|bernoulli|multinomial|poisson|distributions\.[\w.]+)"
)
_DRAWING_METHODS: Final = re.compile(
    r"bernoulli|beta|binomial|choice|choices|entropy|exponential|gamma|gauss|integers|log_prob|multinomial|normal|permutation|permuted|rand|"
    r"randint|randn|randrange|random|random_sample|rsample|sample|shuffle|standard_normal|uniform"
)
"""Of generators and distributions."""

_WRITES_BY: Final = frozenset(("out", "inplace", "training", "dropout_p", "max_norm", "copy"))
"""Keywords of functions that compute otherwise."""

_OUTPUT_AT: Final = {
    "clip": 3,
    **dict.fromkeys(
        [
            "add",
            "subtract",
            "multiply",
            "divide",
            "true_divide",
            "floor_divide",
            "power",
            "mod",
            "remainder",
            "maximum",
            "minimum",
            "fmax",
            "fmin",
            "arctan2",
            "hypot",
            "matmul",
            "dot",
            "greater",
            "greater_equal",
            "less",
            "less_equal",
            "equal",
            "not_equal",
            "logical_and",
            "logical_or",
            "logical_xor",
        ],
        2,
    ),
    **dict.fromkeys(
        [
            "exp",
            "exp2",
            "expm1",
            "log",
            "log2",
            "log10",
            "log1p",
            "sqrt",
            "square",
            "reciprocal",
            "abs",
            "absolute",
            "negative",
            "sign",
            "sin",
            "cos",
            "tan",
            "tanh",
            "floor",
            "ceil",
            "rint",
            "trunc",
            "isnan",
            "isfinite",
            "logical_not",
        ],
        1,
    ),
}
"""Number of the argument of a numpy function by which it is given what it writes to (numpy's reference of universal functions)."""

_WRITES_TO_FIRST: Final = re.compile(
    r"(.*\.)?(shuffle|fill_diagonal|copyto|put|put_along_axis|place|putmask|at|heappush|heappop|heapify|heapreplace|heappushpop|insort\w*)"
)

_ON_HEAPS: Final = re.compile(r"heapq\.(heappush|heappop|heapify|heapreplace|heappushpop)")

_VIEWS: Final = re.compile(
    r"t|T|transpose|swapaxes|permute|reshape|view|flatten|ravel|expand|expand_as|unsqueeze|squeeze|detach|contiguous|cpu|numpy|"
    r"unbind|split|take|get|items|keys|values|index|item|size|dim|numel|nelement|type|to|float|double|half|long|int|bool"
)
"""Methods that give the same numbers in another shape, or a few of them: hardly any work."""

_BUILT_IN: Final = re.compile(
    r"abs|all|any|bool|bytes|complex|dict|divmod|enumerate|filter|float|frozenset|int|isinstance|len|list|map|max|min|pow|range|"
    r"reversed|round|set|slice|sorted|str|sum|tuple|zip"
)

_METHODS: Final = re.compile(
    # Of arrays and tensors.
    r"abs|all|amax|amin|any|argmax|argmin|argsort|astype|bool|clamp|clip|clone|conj|contiguous|copy|cos|cpu|cross|cummax|cumprod|"
    r"cumsum|det|detach|diag|diagonal|diff|dim|dot|double|eig|eq|erf|exp|expand|expand_as|expm1|flatten|flip|float|floor|gather|"
    r"ge|gt|half|index_select|int|inner|inverse|isfinite|isinf|isnan|item|le|log|log10|log1p|log2|log_softmax|logical_and|"
    r"logical_not|logical_or|logsumexp|long|lt|masked_fill|matmul|max|maximum|mean|median|min|minimum|mm|mul|ne|neg|nelement|"
    r"nonzero|norm|numel|numpy|outer|permute|pow|prod|ptp|quantile|ravel|reciprocal|relu|repeat|repeat_interleave|reshape|roll|"
    r"round|rsqrt|scatter|searchsorted|sigmoid|sign|sin|size|softmax|split|sqrt|square|squeeze|stack|std|sub|sum|swapaxes|t|"
    r"take|tan|tanh|tile|to|tolist|topk|trace|transpose|tril|triu|type|unbind|unfold|unique|unsqueeze|var|view|where|"
    r"acos|addmm|aminmax|asin|atan|atan2|bincount|bmm|broadcast_to|ceil|cholesky|chunk|clamp_max|clamp_min|cosh|deg2rad|div|divide|"
    r"floor_divide|fmod|frac|index_add|kthvalue|lerp|logit|masked_select|movedim|multiply|mv|nan_to_num|nanmean|nansum|narrow|new_tensor|"
    r"pinverse|remainder|rot90|scatter_add|sgn|sinh|subtract|take_along_dim|tensor_split|tensordot|true_divide|trunc|unflatten|view_as|"
    # Of texts and containers.
    r"count|decode|encode|endswith|find|format|get|group|groupdict|groups|index|intersection|isdigit|issubset|items|join|keys|lower|lstrip|replace|"
    r"rstrip|splitlines|startswith|strip|symmetric_difference|title|union|upper|values"
)
_CHANGING_METHODS: Final = re.compile(
    r"add|append|appendleft|clear|difference_update|discard|extend|extendleft|fill|insert|intersection_update|pop|popitem|popleft|"
    r"remove|reverse|rotate|setdefault|sort|update"
)

_MAKE: Final = re.compile(
    r".*\.(zeros|ones|full|eye|identity|arange|linspace|array|copy|deepcopy|zeros_like|ones_like|full_like|tensor|stack|"
    r"concatenate|cat|defaultdict|deque|Counter|OrderedDict|astype|clone|tolist)|bytearray|dict|list|set|sorted|len|int|float|sum"
)
_MAKE_TO_BE_WRITTEN: Final = re.compile(
    r"(.*\.)?(zeros|ones|full|zeros_like|ones_like|full_like|copy|deepcopy|clone|list|dict|set|defaultdict|deque|"
    r"array|asarray|ascontiguousarray|tensor|as_tensor|from_numpy|FloatTensor|LongTensor)"
)

_DISPLAYS: Final = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)


def is_of_computing(full_name: str) -> bool:
    """Tell whether it is a constant, a class or a function of a library that computes."""
    return _COMPUTE.match(full_name) is not None


def only_computes(full_name: str) -> bool:
    """Tell whether the function of a library gives the same for the same arguments, and does nothing else."""
    return is_of_computing(full_name) and _DO_MORE.search(full_name) is None


def draws_at_random(full_name: str) -> bool:
    """Tell whether the function of a library draws numbers, or makes what does, and changes nothing but where they come from and what it may
    write them to.
    """
    return _DRAWS.fullmatch(full_name) is not None


def is_drawing_method(name: str) -> bool:
    """Tell whether generators of numbers and distributions have a method of this name that does the same."""
    return _DRAWING_METHODS.fullmatch(name) is not None


def changes_a_heap(full_name: str) -> bool:
    """Tell whether the function does nothing but change the list that it is given first."""
    return _ON_HEAPS.fullmatch(full_name) is not None


def is_built_in(name: str) -> bool:
    """Tell whether it is a function of Python's own that only computes."""
    return _BUILT_IN.fullmatch(name) is not None


def is_computing_method(name: str) -> bool:
    """Tell whether arrays, texts and containers have a method of this name that only computes."""
    return _METHODS.fullmatch(name) is not None


def is_changing_method(name: str) -> bool:
    """Tell whether it changes the container or the array whose method it is."""
    return _CHANGING_METHODS.fullmatch(name) is not None


def is_in_place(name: str) -> bool:
    """Tell whether a method of this name does, torch's ``add_`` among them."""
    return is_changing_method(name) or (name.endswith("_") and not name.startswith("_"))


def hardly_works(call: ast.Call) -> bool:
    """Tell whether it is a method that gives the same numbers in another shape, or a built-in function, whose work the numbers
    that it is given tell.
    """
    if isinstance(call.func, ast.Attribute):
        return _VIEWS.fullmatch(call.func.attr) is not None
    return isinstance(call.func, ast.Name) and is_built_in(call.func.id)


def writes_by_argument(call: ast.Call) -> bool:
    """Tell whether what it is given by a keyword, or last, may have it write to what is there, or draw at random."""
    by_keyword = any(keyword.arg is None or keyword.arg in _WRITES_BY for keyword in call.keywords)
    return by_keyword or _given_for_output(call) is not None


def _given_for_output(call: ast.Call) -> ast.expr | None:
    """Return what a function of numpy is given, by position, to write its result to: ``np.add(a, b, a)``."""
    match call.func:
        case ast.Attribute(value=ast.Name() as owner, attr=name) if stands_for(owner) == "numpy":
            place = _OUTPUT_AT.get(name)
            if place is not None and len(call.args) > place:
                return call.args[place]
    return None


def written_by(call: ast.Call) -> Iterator[ast.expr]:
    """Yield what the call of a method or a function is known to write to."""
    if isinstance(call.func, ast.Attribute) and is_in_place(call.func.attr):
        yield call.func.value
    if call.args and _WRITES_TO_FIRST.fullmatch(ast.unparse(call.func)):
        yield call.args[0]
    if (output := _given_for_output(call)) is not None:
        yield output
    yield from given_by_name(call, "out")


def worked_on(value: ast.expr) -> ast.expr:
    """Return what ``value`` is another shape of: ``rows`` of ``rows.reshape(-1)``."""
    while (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and hardly_works(value)
    ):
        value = value.func.value
    return value


def is_made_to_be_written(value: ast.expr) -> bool:
    """Tell whether the expression makes a container, a copy, or an array of one number or of a list: one does so in order to write to it,
    or to convert what comes anew each time.
    """
    value = worked_on(value)
    if isinstance(value, ast.Call):
        return _MAKE_TO_BE_WRITTEN.fullmatch(ast.unparse(value.func)) is not None
    return isinstance(value, _DISPLAYS)


def makes(value: ast.expr, made: Collection[str]) -> bool:
    """Tell whether the value of the expression is new, so that to change it changes nothing else; ``made`` are variables of such values."""
    match value:
        case ast.Name(id=name):
            return name in made
        case ast.Subscript(value=owner):
            return makes(owner, made)
        case ast.IfExp(body=body, orelse=orelse):
            return makes(body, made) and makes(orelse, made)
        case ast.Call(func=function):
            if _MAKE.fullmatch(ast.unparse(function)):
                return True
            # torch.from_numpy(table) shares the memory of ``table``, and table.view() too.
            parts = given_to(value)
            if isinstance(function, ast.Attribute) and _is_computed_by(function):
                parts.append(function.value)
            return bool(parts) and all(makes(part, made) for part in parts)
    return isinstance(
        value, (ast.Constant, ast.JoinedStr, ast.Compare, ast.BinOp, ast.UnaryOp, *_DISPLAYS)
    )


def _is_computed_by(method: ast.Attribute) -> bool:
    """Tell ``x.exp`` from ``np.exp``, which is no method of an array."""
    is_library = isinstance(method.value, ast.Name) and is_of_computing(stands_for(method.value))
    return is_computing_method(method.attr) and not is_library


def makes_all(value: ast.expr | None) -> bool:
    """Tell whether the elements of what the expression makes are new as well: numbers, displays of such, arrays of a library."""
    match value:
        case ast.Constant() | ast.UnaryOp() | ast.Compare():
            return True
        case ast.List(elts=parts) | ast.Set(elts=parts):
            return all(makes_all(each) for each in parts)
        case ast.ListComp(elt=part) | ast.BinOp(left=part):
            return makes_all(part)
        case ast.Dict(values=parts):
            return all(makes_all(each) for each in parts)
        case ast.Call(func=ast.Attribute() as function):
            return _MAKE.fullmatch(ast.unparse(function)) is not None and function.attr != "copy"
    return False
