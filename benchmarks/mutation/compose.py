"""A program and its fixed version from a seed: which host, fault and disguise, and their text."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .code import Code, Socket, parts_of
from .disguises import DISGUISES, Dressed, plain
from .faults import FAULTS, Fault
from .hosts import HOSTS, METER, Host, main_of
from .names import Names, literals

LEAST_SHARE = 0.1
MOST_SHARE = 0.8

SETUP_FORMS = ("plain", "helper", "module", "method", "closure", "partial", "process")
"""For code that runs once, at the start."""

_WORDS_OF_FORMS = (
    "self function wrapped given calls each functools options sps json context children train"
)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One drawn program: everything that its text depends on."""

    seed: int
    number: int
    host: Host
    fault: Fault | None
    """None for the healthy host alone."""
    disguise: str
    share: float
    """The part of the time that the fault was meant to take."""
    size: int
    every: int

    @property
    def name(self) -> str:
        fault = self.fault.name if self.fault else "healthy"
        return f"{self.number:03d}-{self.host.name}-{fault}-{self.disguise}"


@dataclass(frozen=True, slots=True)
class Written:
    """The files of one program, by name."""

    files: Mapping[str, str]

    def into(self, folder: Path) -> Path:
        """Write all; the path of the one to run."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in self.files.items():
            (folder / name).write_text(text)
        return folder / "train.py"


def fits(fault: Fault, host: Host) -> bool:
    """Whether ``host`` has all sockets of ``fault``, and the fault can take a share there."""
    if not all(kind in host.sockets for kind in fault.codes):
        return False
    if not all(fault.roles <= host.sockets[kind].roles.keys() for kind in fault.codes):
        return False
    if any(package not in host.needs for package in fault.within):
        return False
    return _unit_us(fault, host) == 0 or _most_share(fault, host) >= LEAST_SHARE


def forms_of(fault: Fault, host: Host) -> list[str]:
    """The disguises that this fault can wear in this host."""
    forms = SETUP_FORMS if fault.at_setup else tuple(DISGUISES)
    return [form for form in forms if form != "process" or host.is_alone]


def mutants_of(seed: int, count: int) -> list[Mutant]:
    """The first ``count`` programs of a seed: every fault comes once before any comes twice."""
    return [_drawn(seed, number) for number in range(count)]


def healthy(seed: int, hosts: Iterable[Host]) -> list[Mutant]:
    """Each host without a fault, under names of this seed."""
    return [
        Mutant(seed, 900 + number, host, None, "plain", 0.0, 1, 1)
        for number, host in enumerate(hosts)
    ]


def _drawn(seed: int, number: int) -> Mutant:
    faults = sorted(FAULTS, key=lambda fault: fault.name)
    random.Random(f"{seed} faults {number // len(faults)}").shuffle(faults)
    fault = faults[number % len(faults)]
    rng = random.Random(f"{seed} program {number}")
    host = rng.choice([host for host in HOSTS if fits(fault, host)])
    disguise = rng.choice(forms_of(fault, host))
    share = rng.uniform(LEAST_SHARE, MOST_SHARE)
    size, every = scaled(fault, host, share)
    return Mutant(seed, number, host, fault, disguise, share, size, every)


def scaled(fault: Fault, host: Host, share: float) -> tuple[int, int]:
    """How large the fault is, and at every how many calls it happens, to take about ``share``."""
    if fault.calls_per_s:
        return fault.sizes[0], max(1, round(1e6 / _step_us(fault, host) / fault.calls_per_s))
    unit_us = _unit_us(fault, host)
    if unit_us == 0:
        return fault.sizes[0], 1
    wanted_us = _step_us(fault, host) * share / (1 - share)
    least, most = fault.sizes
    size = round((wanted_us - fault.base_us) / unit_us)
    size = min(most, max(least, size))
    every = 1
    if fault.is_rare:
        every = max(1, round((fault.base_us + unit_us * size) / wanted_us))
    return size, every


def _most_share(fault: Fault, host: Host) -> float:
    most_us = fault.base_us + _unit_us(fault, host) * fault.sizes[1]
    return most_us / (most_us + _step_us(fault, host))


def _unit_us(fault: Fault, host: Host) -> float:
    return fault.unit_us + fault.unit_part * _step_us(fault, host)


def _step_us(fault: Fault, host: Host) -> float:
    """The host's time between two calls of the fault's socket."""
    return host.step_us * host.steps_between.get(next(iter(fault.codes)), 1)


def written(mutant: Mutant, *, fixed: bool) -> Written:
    """The program with its fault, or put right; the same in all else."""
    names = _names_of(mutant)
    imports: list[str] = []
    above: list[str] = []
    beside: list[str] = []
    lines: list[str] = []
    joins = ""
    for part in parts_of(mutant.host.template):
        if isinstance(part, str):
            text = names.fill(part)
            if joins and _can_join(joins, text):
                lines[-1] = f"{lines[-1]}; {text.strip()}"
            else:
                lines.append(text)
            joins = ""
            continue
        dressed = _dressed(mutant, part, names, fixed=fixed)
        imports.append(dressed.imports)
        above.append(dressed.above)
        beside.append(dressed.beside)
        if dressed.call:
            lines += [f"{part.indent}{line}" if line else "" for line in dressed.call.splitlines()]
            joins = lines[-1] if dressed.joins else ""
    rng = random.Random(f"{mutant.seed} main {mutant.number}")
    meter = names.fill(METER[rng.randrange(len(METER))])
    in_process = mutant.disguise == "process"
    main, more = main_of(names, rng, in_processes=in_process)
    text = "\n".join(lines)
    head, _, rest = text.partition("\n@@\n")
    train = "\n".join(
        [
            *_sorted_imports([head, more, *imports]),
            "",
            "",
            "\n\n\n".join(piece for piece in (meter, *above) if piece),
            "",
            rest.rstrip(),
            "",
            "",
            main,
            "",
        ]
    )
    files = {"train.py": train}
    if any(beside):
        module = "\n\n\n".join(piece for piece in beside if piece)
        files[f"{names['beside']}.py"] = module + "\n"
    return Written(files)


def _names_of(mutant: Mutant) -> Names:
    pieces = [mutant.host.template, *METER, _WORDS_OF_FORMS]
    if mutant.fault is not None:
        for code in (*mutant.fault.codes.values(), *mutant.fault.healthy.values()):
            pieces += [code.body, code.result, code.imports, code.definitions, code.kept]
    rng = random.Random(f"{mutant.seed} names {mutant.number}")
    return Names(rng, mutant.host.fixed_names, literals(*pieces))


def _dressed(mutant: Mutant, socket: Socket, names: Names, *, fixed: bool) -> Dressed:
    fault = mutant.fault
    if fault is None or socket.kind not in fault.codes:
        return plain(socket.default, socket, names)
    faulty = fault.codes[socket.kind]
    healthy_code = fault.healthy.get(socket.kind, socket.default)
    code = healthy_code if fixed else faulty
    every = mutant.every * (fault.rarer if fixed else 1)
    code = code.sized(size=mutant.size)
    if fault.is_rare:
        code = _at_every(code, every)
    is_first = socket.kind == next(iter(fault.codes))
    # Imports and what is shared stay as they are in both versions.
    imports = _once(faulty.imports, code.imports, _imports_for(code, mutant.host))
    form = DISGUISES[mutant.disguise] if is_first else plain
    dressed = form(
        Code(code.body, code.result, imports, code.definitions, code.kept), socket, names
    )
    if dressed.beside:
        return dressed
    return Dressed(dressed.above, dressed.call, "", _once(dressed.imports, imports), dressed.joins)


def _imports_for(code: Code, host: Host) -> str:
    """Those of the host's imports that its code uses, which may go to a second module."""
    head = host.template.partition("\n@@\n")[0]
    used = literals(code.body, code.result)
    lines = [line for line in head.splitlines() if line.startswith(("import ", "from "))]
    return "\n".join(line for line in lines if literals(line.rpartition("import ")[2]) & used)


def _once(*texts: str) -> str:
    return "\n".join(dict.fromkeys(line for text in texts for line in text.splitlines()))


def _at_every(code: Code, every: int) -> Code:
    if every == 1 or not code.body:
        return code
    inside = "\n".join(f"    {line}" for line in code.body.splitlines())
    return Code(
        f"if $count % {every} == 0:\n{inside}",
        code.result,
        code.imports,
        code.definitions,
        code.kept,
    )


def _can_join(line: str, following: str) -> bool:
    """Whether two lines may stand on one."""
    deep = len(line) - len(line.lstrip())
    simple = not following.rstrip().endswith((":", "(", "[", "{", ","))
    same = len(following) - len(following.lstrip()) == deep
    words = ("if ", "for ", "while ", "with ", "def ", "class ", "else", "elif ", "@", "#", ")")
    return bool(following.strip()) and simple and same and not following.lstrip().startswith(words)


def _sorted_imports(texts: Iterable[str]) -> list[str]:
    lines: list[str] = []
    for text in texts:
        for line in text.splitlines():
            if line.strip() and line not in lines:
                lines.append(line)
    documented = [line for line in lines if line.startswith('"""')]
    return [*documented, *([""] if documented else []), *(x for x in lines if x not in documented)]
