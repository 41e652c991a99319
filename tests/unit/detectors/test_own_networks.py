"""`python-env-loop` where the objects of a loop bring networks: each its own, or all the same one."""

from __future__ import annotations

import pytest

from rlprof.detectors.python_env_loop import DETECTOR
from tests.factories import a_run
from tests.profile_factory import SITE, Script, detect

TEAM = """
import torch

class Player:
    def __init__(self, seed, brain=None):
        self.seed = seed
        self.brain = {brain}

    def choose(self, row, net=None):
        return {asked}(torch.from_numpy(row)).argmax()

def play(observations, net):
    {made}
    while True:
        for player, {row} in {through}:
            moves.append({call})
"""
FORWARD = f"{SITE}/torch/nn/modules/module.py:1500 Module._call_impl"
NETWORK = "type=torch.nn.modules.container.Sequential bases=torch.nn.modules.module.Module"
PLAYERS = "type=list length=6 first.type=team.Player"
ROW = "type=numpy.ndarray shape=6 dtype=float32"


def is_told(
    *,
    brain: str = "mlp(4, 5)",
    asked: str = "self.brain",
    made: str = "players = [Player(seed) for seed in range(6)]",
    through: str = "zip(players, rows)",
    row: str = "row",
    call: str = "player.choose(row)",
) -> bool:
    text = TEAM.format(brain=brain, asked=asked, made=made, through=through, row=row, call=call)
    script = Script("team.py", text)
    asking, choosing = script.at("moves.append", "play"), script.at(".argmax()", "Player.choose")
    run = a_run("team.py", steady_s=10.0).process("main", steps=50_000)
    run.spends(6.0, asking, choosing, FORWARD).spends(4.0, "world.py:3 move")
    run.sees(asking, players=PLAYERS, row=ROW)
    run.sees(choosing, **{asked.replace(".", "__"): NETWORK, "row": ROW})
    return bool(detect(DETECTOR, run, script))


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"through": "zip(players, observations)"},
        {"through": "enumerate(players)", "row": "player", "call": "player.choose(rows[0])"},
        {"brain": "brain", "made": "players = [Player(i, mlp(4, 5)) for i in range(6)]"},
        {"brain": "brain", "made": "players = [Player(0, net) for net in nets]"},
        {"brain": "brain", "made": "players = [Player(0, nets[i]) for i in range(6)]"},
        {"brain": "brain", "made": "players = [Player(0, net), Player(1, other)]"},
    ],
)
def test_silent_where_each_object_asks_a_network_of_its_own(changed: dict[str, str]):
    assert not is_told(**changed)


@pytest.mark.parametrize(
    "changed",
    [
        {"brain": "brain", "made": "players = [Player(i, net) for i in range(6)]"},
        {"brain": "brain", "made": "players = [Player(i, brain=self.net) for i in range(6)]"},
        {"brain": "brain", "made": "players = [Player(0, net), Player(1, net)]"},
        {"asked": "net", "call": "player.choose(row, net)"},
        {"asked": "NET"},
        {"call": "captain.choose(row)"},
    ],
)
def test_one_network_that_all_objects_ask_is_told(changed: dict[str, str]):
    assert is_told(**changed)


@pytest.mark.parametrize(("head", "is_told"), [("head", False), ("self.trunk", True)])
def test_a_network_that_the_loop_goes_through_is_its_own(head: str, is_told: bool):
    script = Script(
        "heads.py",
        f"""
        def features(self, parts):
            for head, part in zip(self.heads, parts):
                made.append({head}(part))
        """,
    )
    line = script.at("made.append", "features")
    run = a_run("heads.py", steady_s=10.0).process("main", steps=50_000)
    run.spends(6.0, line, FORWARD).spends(4.0, "world.py:3 move")
    part = "type=torch.Tensor shape=8 dtype=torch.float32 device=cpu"
    parts = f"type=list length=6 first.{' first.'.join(part.split())}"
    run.sees(line, **{head.replace(".", "__"): NETWORK, "part": part, "parts": parts})

    assert bool(detect(DETECTOR, run, script)) is is_told
