"""Names that a program may give its things; each program draws its own."""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Mapping

PLACEHOLDER = re.compile(r"\$(\w+)")
LITERAL = re.compile(r"(?<![$\w])[A-Za-z_]\w*")

POOLS: dict[str, tuple[str, ...]] = {
    # Classes.
    "World": ("Arena", "Corridor", "Plant", "Yard", "Simulator", "Field", "PoleEnv", "Task"),
    "Many": ("ArenaBatch", "Fleet", "VectorTask", "Crowd", "Stack", "Worlds", "InOneProcess"),
    "Piped": ("ArenaFarm", "Outposts", "ProcessPer", "SubprocVec", "Remote", "Branches"),
    "Meter": ("Meter", "Pace", "Timer", "Odometer", "Progress", "Gauge"),
    "Memory": ("Ring", "Replay", "Storage", "Experience", "TransitionStore", "Pool"),
    "Drawer": ("Recall", "Archive", "PastSteps", "Reservoir", "History", "Bank"),
    "Net": ("Brain", "QNet", "ActorCritic", "Model", "Controller", "Head"),
    "Journal": ("Journal", "Diary", "Trace", "Reporter", "Notebook", "Messages"),
    "Moment": ("Moment", "Record", "Turn", "Experience", "Sample", "Entry"),
    "Ground": ("Terrain", "Ground", "Slope", "Relief", "Surface", "Hills"),
    "Holder": ("Keeper", "Bookkeeping", "Monitor", "Scribe", "Tracker", "Hooks", "Extras"),
    "Stop": ("Until", "StopLater", "TimeLimit", "Ending", "Watchdog", "Budget"),
    # Methods and functions.
    "reset": ("reset", "restart", "begin", "start_over", "first", "new_game"),
    "step": ("step", "advance", "tick", "move", "apply", "proceed"),
    "clone": ("clone", "duplicate", "branch", "twin", "fork_off", "spawn_copy"),
    "more": ("more", "time_left", "goes_on", "is_on", "not_over", "keep_going"),
    "add": ("add", "push", "store", "remember", "put_in", "extend_by"),
    "draw": ("draw", "sample", "batch", "pick", "recall", "minibatch"),
    "note": ("note", "say", "mention", "trace", "tell", "remark"),
    "train": ("train", "learn", "run", "fit", "optimise", "practice"),
    "choose": ("choose", "decide", "select", "act", "pick_move", "policy"),
    "score": ("score", "fitness", "rollout_return", "evaluate", "judge", "play_out"),
    "worker": ("worker", "serve", "child", "actor", "collect", "remote_loop"),
    "part": ("part", "one_run", "job", "replica", "in_background", "leg"),
    "function": ("observe", "handle", "process", "take_in", "digest", "work_on", "treat", "do_one"),
    "steepness": ("steepness", "shape_cost", "weights_of", "profile_of", "table_of", "grades"),
    "maker": ("make_handler", "prepare", "build", "bind", "set_up", "handler_for"),
    "deco": ("counted", "traced", "watched", "noted", "tallied", "checked"),
    "outcome": ("outcome", "answer", "result", "value", "reading", "product"),
    # Objects.
    "world": ("env", "world", "arena", "sim", "task", "plant"),
    "worlds": ("envs", "fleet", "arenas", "sims", "venv", "batch_env"),
    "meter": ("meter", "clock", "pace", "timer", "progress", "odometer"),
    "rng": ("rng", "dice", "generator", "chance", "rand", "noise"),
    "memory": ("memory", "replay", "buffer", "storage", "past", "experience"),
    "net": ("net", "model", "policy_net", "brain", "network", "agent"),
    "target": ("target", "slow_net", "frozen", "teacher", "lagged", "old_net"),
    "optimizer": ("optimizer", "opt", "optim", "adam", "solver", "updater"),
    "obs": ("obs", "observation", "state", "x", "features", "seen"),
    "after": ("next_obs", "after", "following", "then", "arrived", "upcoming"),
    "action": ("action", "move", "act", "choice", "u", "decision"),
    "reward": ("reward", "r", "gain", "score", "payoff", "utility"),
    "over": ("done", "over", "ended", "is_last", "terminal", "finished"),
    "count": ("count", "steps", "t", "number", "total_steps", "n_seen"),
    "episodes": ("episodes", "games", "rounds", "trials", "attempts", "n_done"),
    "updates": ("updates", "iterations", "epochs_done", "n_updates", "learned", "passes"),
    "loss": ("loss", "objective", "cost", "error", "criterion", "penalty"),
    "values": ("values", "table", "q", "estimates", "utilities", "prices"),
    "weights": ("weights", "theta", "w", "params", "coefficients", "gains"),
    "inbox": ("inbox", "rollouts", "incoming", "channel", "mail", "stream"),
    "boxes": ("boxes", "to_actors", "outgoing", "lines", "pipes", "letters"),
    "pool": ("pool", "team", "staff", "processes", "hands", "crew_pool"),
    # What faults keep and use.
    "kept": ("recent", "window", "ledger", "marks", "series", "shelf", "track", "stash"),
    "log": ("log", "logger", "out_log", "messages", "journal_log", "diary"),
    "journal": ("journal", "diary_of_run", "speaker", "talk", "narrator", "chronicle"),
    "ground": ("ground", "terrain", "relief", "hills", "landscape", "surface_of_task"),
    "tmp": ("tmp", "piece", "part_of_it", "middle", "held", "scratch"),
    "tmp2": ("rest", "second", "other", "beside", "extra", "spare"),
    "tmp3": ("third", "edge", "bound", "last_one", "limit", "tail"),
    "item": ("item", "one", "entry", "row", "element", "single"),
    "index": ("index", "i", "k", "position", "slot", "at"),
    "object": ("extras", "monitor", "keeper", "sidekick", "addon", "companion"),
    "hooks": ("hooks", "callbacks", "listeners", "handlers", "observers", "stages"),
    "beside": ("common", "tools", "support", "parts", "shared_code", "extras_lib"),
}

PARAMETERS: dict[str, tuple[str, ...]] = {
    "obs": ("x", "features", "arrays", "inputs", "vector", "current"),
    "action": ("a", "chosen", "command", "control", "selected", "kind"),
    "reward": ("r", "gained", "points", "benefit", "amount", "signal"),
    "count": ("n", "number", "index_of_step", "so_far", "step_no", "tally"),
    "net": ("module", "f", "mlp", "estimator", "layers", "approximator"),
    "env": ("game", "problem", "place_of_play", "simulator", "instance", "scene"),
    "rows": ("batch_of_rows", "vectors", "records", "examples", "entries", "pieces"),
    "seen": ("views", "inputs_by_name", "by_player", "perceived", "known_states", "sights"),
    "rewards": ("gains", "payoffs", "r_matrix", "returns_in", "income", "earned"),
    "values": ("v", "baseline", "predicted", "guesses", "critic_out", "expected"),
    "overs": ("masks", "ends", "dones", "finals", "stops", "terminals"),
    "last": ("bootstrap", "final_value", "tail_value", "v_end", "beyond", "closing"),
    "logits": ("raw", "preferences", "unnormalised", "z", "log_weights", "outputs"),
    "returns": ("g", "targets", "advantages", "sums", "credits", "outcomes"),
    "boxes": ("receivers", "to_all", "mailboxes", "subscribers", "out_queues", "posts"),
    "inbox": ("source", "from_actors", "in_queue", "arrivals", "feed", "line_in"),
    "candidates": ("people", "thetas", "population", "offspring", "proposals", "samples"),
    "slow": ("lagging", "averaged", "follower", "polyak", "copy_of_net", "shadow"),
    "quick": ("online", "leader", "fresh_net", "trained", "source_net", "live"),
}
"""What a role is called inside of a function; others keep their own."""


def literals(*texts: str) -> set[str]:
    """The names that stand in a text as they are: none may be drawn beside them."""
    return {name for text in texts for name in LITERAL.findall(text)}


class Names:
    """One program's: the same key is the same name, and no two keys share one."""

    def __init__(
        self,
        rng: random.Random,
        fixed: Mapping[str, str] | None = None,
        avoid: Collection[str] = (),
    ) -> None:
        self._rng = rng
        self._avoided = frozenset(avoid)
        self._names = dict(fixed or {})
        self._parameters: dict[str, str] = {}
        # All at once: a program and its fixed version use different ones, and call all else the same.
        for key, pool in POOLS.items():
            self._names.setdefault(key, self._drawn(pool))
        for role, pool in PARAMETERS.items():
            self._parameters[role] = self._drawn(pool)

    def __getitem__(self, key: str) -> str:
        return self._names[key]

    def parameter(self, role: str) -> str:
        return self._parameters.get(role, f"the_{role}")

    def _drawn(self, pool: tuple[str, ...]) -> str:
        taken = self._avoided | set(self._names.values()) | set(self._parameters.values())
        free = [name for name in pool if name not in taken]
        return self._rng.choice(free) if free else f"{self._rng.choice(pool)}_{len(taken)}"

    def fill(self, text: str) -> str:
        """``text`` with each ``$key`` as this program calls it."""
        return PLACEHOLDER.sub(lambda found: self[found[1]], text)
