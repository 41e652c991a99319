"""Contract of a library: where in its code what part of training happens, what waits there, what counts steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

from rlprof.model.activity import WaitKind
from rlprof.model.finding import Range

EVERYTHING: Final = ""
"""Pattern of all files of a library."""

ANY: Final = "*"
"""Stands for the functions of a file that are not named."""


class Transport(Enum):
    """Work that code does to get data from one process to another."""

    PICKLING = "pickling"
    """Objects made bytes, and bytes objects."""
    BYTES = "bytes"
    """Written to and read from pipes: wake-ups of the other side and waits for it included."""
    PLUMBING = "plumbing"
    """Queues, events, locks and shared arrays around it."""


class Sink(Enum):
    """Destination of a program's output; the first of several on a line counts."""

    SYNCS = "syncs and flushes"
    """The caller waits until the bytes have left the process, or are on the disk."""
    REPLACING = "files put in the place of others"
    """The system may write their bytes to the disk first."""
    OPENING = "files opened to be written"
    RECORDS = "log records"
    PRINT = "printed text"
    METRICS = "metrics"
    PROGRESS = "progress bars"
    ROWS = "rows of CSV"
    FILES = "writes to files"


class Access(Enum):
    """Access to data outside of the program, which waits for it; the first of several on a line counts."""

    REMOTE = "requests to servers"
    """HTTP and databases over a network."""
    READ = "reads of files"


class Duty(Enum):
    """Purpose for which a function of a library is called."""

    MAKES_ENVIRONMENTS = "makes environments"
    CHECKS_NEW_ENVIRONMENTS = "checks the first reset and the first step of an environment"
    ASKS_NETWORK = "asks a network"
    LOADS_DATA = "loads batches in a process of its own"
    COMPUTES_GRADIENTS = "goes back through what networks were asked"
    MOVES_PARAMETERS = "takes a step of an optimizer"
    EVALUATES = "plays episodes to tell how good a policy is"
    PLAYS_EPISODES = "plays episodes and gives all that was seen"


class SlowCall(NamedTuple):
    """Work that training code does by functions of a library though there is a cheaper way."""

    done: str
    """Work that they do, as a finding's title has it: ``a YAML text is parsed``."""
    instead: str
    """Advice on what to do instead, in whole sentences."""
    removable: Range
    """Part of their time that goes then. ``benchmarks/replaced_calls.py`` measures most of them; what is made or read once costs
    next to nothing then, and has no case there."""
    checks: str = ""
    """Files, as a regular expression, that check what is given: where calls work on so much that most of their time is
    elsewhere, nothing is told. Empty: always told."""
    works: str = ""
    """Files that do what would have to be done anyhow. Their time stays; where it is most of a call's, nothing is told."""
    answered_by: str = ""
    """Its function that answers these calls in another process, whose time goes, too. Of the calls only what they work goes
    then: they may wait for what somebody else puts there."""
    but_for: str = ""
    """Methods, as a regular expression of ``type.method``, that are something else: they wait for others. The type is empty where no
    look has told."""
    from_numbers: int = 0
    """Numbers in the matrix that they are given, from which on there is a cheaper way; nothing is told where no look has."""
    up_to_numbers: int = 0
    """Most numbers in an array that they are given, so that there is a cheaper way; where no look has told, it takes ``works`` to tell."""
    through: str = ""
    """Files of its library, as a regular expression, that may stand between the user's line and its functions."""
    of_diagonals: str = ""
    """Class whose matrices have to be diagonal by the source, wherever it is made; nothing is told where one may be another."""
    calls_yours: bool = False
    """True if it calls a function of the program's, which goes with it: ``np.vectorize``. Else that is what is done with the result, or what
    makes what it is given."""
    is_check: bool = False
    """True if nothing is told but where an error is all that its answer decides about: what a program goes by stays."""
    takes_nothing: bool = False
    """True if nothing is told where it is given an argument."""
    each_step_up_to_us: float = 0.0
    """Most time of one call, where nothing is told but of calls within the steps of an environment: what takes longer works on much.
    """
    only_with: str = ""
    """Keyword, the second argument, of what the sizes are; nothing is told where it is not given."""
    few_by: str = ""
    """Keyword of how many results a call gives, each of which takes a part of the work of its own; nothing is told where the program's text does not
    tell, or where there are many. Where it is not given there is one."""
    many_by: tuple[str, ...] = ()
    """Keywords, the first of them the third argument, by which one call does for many, or does it in a cheaper way; nothing is told where one is given."""
    of_its_seed: bool = False
    """True if nothing is told where it is given what is not written as a constant: what is drawn then is that seed's, as noise that is made
    again. It takes microseconds, so what is drawn on the same line may be nearly all of the line's time."""
    for_items: bool = False
    """True if nothing is told but where items of its result are all that is taken: ``np.eye(n)[i]``."""


class StepSource(NamedTuple):
    """A counter of the agent's that tells environment steps."""

    counter: str
    """As the agent counts it: ``steps:gymnasium.vector``."""
    words: str
    """The source as reports name it."""
    rank: int
    """Place among the sources of all libraries. The lowest that counted is the run's: those above count
    the same steps again, inside of it or in its workers."""
    is_own_env: bool = False
    """True if it counts environments that a process steps itself, not by workers."""
    is_beside: bool = False
    """True if the agent leaves out of it what the sources above count in the same process: its steps are further ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """Facts that rlprof knows of one library, or of several that it knows the same of.

    Patterns are regular expressions that files match from their package's folder on:
    ``common/vec_env/`` of the package ``stable_baselines3`` is found in
    ``…/site-packages/stable_baselines3/common/vec_env/base_vec_env.py``. ``None`` is no file,
    ``EVERYTHING`` all.
    """

    name: str
    """As its users write it."""
    packages: tuple[str, ...] = ()
    """Its top-level packages: a file in a folder of such a name is nobody's own, also where a stack tells
    no more of its path. Without any, and without ``also``, patterns match from any folder on."""
    also: tuple[str, ...] = ()
    """More of its packages, as regular expressions, whose names are told from a project's by the path alone."""
    samples: tuple[str, ...] = ()
    """Files that it has, from the package's folder on: one at least for each pattern but ``EVERYTHING``."""

    environment: str | None = None
    """Environments and what wraps them."""
    wrappers: str | None = None
    """Those of its files that wrap environments of others."""
    policy: str | None = None
    """Networks and distributions: learning below a learner, else inference. A file that is of a policy and of a learner stands
    here, and what calls its updates under ``learner``."""
    learner: str | None = None
    """Losses, gradients and optimizers."""
    gradients: str | None = None
    """Those of its files that make gradients or step an optimizer: who calls them, updates."""
    data: str | None = None
    """Batches made ready: buffers, loaders."""
    transfer: str | None = None
    """Weights and data that go to other processes."""
    logging: str | None = None
    """Whatever tells how the training is doing."""
    configuration: str | None = None
    """Options read and resolved."""

    transport: Mapping[str, Mapping[str, Transport]] = field(default_factory=dict)
    """Work that its functions, by pattern and name, do to get data to another process."""
    passes_on: str | None = None
    """Code that passes messages on, and calls the work itself: its own time is transport, what is below it is not. Not named
    under ``transport``, which takes what is below, too."""
    pools: str | None = None
    """Pools of threads or processes: what calls them hands tasks over, or waits for results."""
    waits: Mapping[str, Mapping[str, WaitKind]] = field(default_factory=dict)
    """Kinds of wait of its functions, by pattern and name. Outside of the standard library only loops of the
    library's own that poll (``WaitKind.POLL``), or nap until a lock is free."""

    instead_of_polling: str = ""
    """Advice on what to do about those, in whole sentences; else that they be left a core."""

    duties: Mapping[str, Mapping[str, Duty]] = field(default_factory=dict)
    """Duties that its functions, by pattern and name, are called for."""
    slow_calls: Mapping[str, Mapping[str, SlowCall]] = field(default_factory=dict)
    """Its functions, by pattern and name, that have a cheaper way in a loop."""
    slow_in_c: Mapping[str, SlowCall] = field(default_factory=dict)
    """The same of functions that are not written in Python, by name with module: ``zlib.compress``."""
    environment_classes: tuple[str, ...] = ()
    """Classes, with their modules, that its environments are derived from."""

    sinks: Mapping[Sink, str] = field(default_factory=dict)
    """Files that write output, by what takes it."""
    accesses: Mapping[Access, str] = field(default_factory=dict)
    """Files that get data from elsewhere, by the kind of access."""
    emits: str | None = None
    """Code of a library with log records that runs only for a record that is wanted."""
    saving: str | None = None
    """Code that writes models, arrays and archives."""
    makes_text: str | None = None
    """Code that an output line may call to make its text."""

    drives: str | None = None
    """Code that calls its user's functions over and over: training loops, pools, event loops."""
    is_launcher: bool = False
    """True if it starts other people's code: what it calls is what the run started."""
    is_framework: bool = False
    """True if networks are made of it, all of it: a call into it asks a network."""
    does_callers_work: bool = False
    """True if its time is the work of the line that called it."""
    has_thread_teams: bool = False
    """True if it computes in threads of BLAS, OpenMP or its own."""
    compilers: str | None = None
    """Code that calls a compiler, whose threads compute nothing for the training."""

    step_sources: tuple[StepSource, ...] = ()
    """Counters of the agent's that tell its environments' steps."""
    in_process_envs: str = ""
    """Its class that steps several environments in one process."""
