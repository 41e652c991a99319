"""``dataset-crosses-bus`` by samples, values and counted copies: lines that work on a batch before they copy it to a GPU."""

from __future__ import annotations

import pytest

from rlprof.detectors.dataset_crosses_bus import DETECTOR, FEWEST_COPIES
from rlprof.model.finding import Finding
from rlprof.model.recording import SyncSite
from tests.factories import RunBuilder, a_run
from tests.profile_factory import Script, claimed_s, detect, profile_of

AGENT = Script(
    "agent.py",
    """
    def frames_in_one_line(self, frames):
        return torch.from_numpy(frames.astype(np.float32) / 255.0).to(self.device)

    def frames_in_two_lines(self, frames):
        scaled = torch.as_tensor(frames, dtype=torch.float32)
        return scaled.to(self.device)

    def frames_as_they_are(self, frames):
        return torch.from_numpy(frames).to(self.device).float() / 255.0

    def minibatch(self, idx):
        return self.obs[idx].to(self.device)

    def drawn_before(self, idx):
        rows = self.obs[idx]
        batch = torch.from_numpy(rows)
        return batch.to(self.device)

    def observed(self, obs):
        return torch.from_numpy(obs).to(self.device)

    def moved_before(self, frames):
        return (torch.from_numpy(frames).to(self.device).float() / 255.0).to(torch.bfloat16)

    def epochs(self, rollout, steps):
        obs = torch.as_tensor(rollout)
        for idx in torch.randperm(steps).split(512):
            batch = obs[idx].to(self.device)

    def alive_ones(self, alive):
        for _ in range(100):
            seen = self.envs.step()
            batch = seen[alive].to(self.device)
    """,
)
COPIES = {
    "frames_in_one_line": "frames.astype(np.float32)",
    "frames_in_two_lines": "scaled.to(",
    "frames_as_they_are": "from_numpy(frames).to(",
    "minibatch": "self.obs[idx].to(",
    "drawn_before": "batch.to(",
    "observed": "from_numpy(obs).to(",
    "moved_before": "torch.bfloat16",
    "epochs": "batch = obs[idx].to(",
    "alive_ones": "batch = seen[alive].to(",
}
"""The line of each function that copies."""
FRAMES = "type=numpy.ndarray shape=256,4,64,64 dtype=u1"
FLOATS = "type=numpy.ndarray shape=256,17 dtype=f4"
ROLLOUT = "type=torch.Tensor shape=1024,4,42,42 dtype=torch.float32 device=cpu"
ROWS = "type=torch.Tensor shape=512 dtype=torch.int64 device=cpu"
MIB = 1 << 20


def a_line_that_copies(
    function: str,
    *,
    takes_s: float = 6.0,
    waits_s: float = 1.0,
    calls: int = 1000,
    each: int = 4 * MIB,
    memory_gib: int = 80,
) -> RunBuilder:
    """Ten seconds, of which ``function`` takes some, and waits for its copies a part of that."""
    copy = COPIES[function]
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(takes_s, AGENT.at(copy, function)).spends(10 - takes_s, "env.py:3 step")
    run.with_run(host={"gpu:0:memory_bytes": str(memory_gib << 30)}).gauge("gpu:0:utilisation", 0.1)
    method = "to (to the GPU, pageable)"
    return run.reads(
        SyncSite(
            0,
            AGENT.file,
            function,
            AGENT.line(copy),
            method,
            "gpu",
            calls,
            round(waits_s * 1e6),
            calls * each,
        )
    )


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, AGENT)


@pytest.mark.parametrize("function", ["frames_in_one_line", "frames_in_two_lines"])
def test_single_bytes_are_to_be_made_floats_on_the_gpu(function: str):
    run = a_line_that_copies(function)
    run.sees(AGENT.at(".astype" if "one" in function else "as_tensor", function), frames=FRAMES)

    (finding,) = found(run)

    assert finding.title.startswith("single bytes are made floats on the host")
    assert finding.evidence[2].startswith("frames: array of 256")
    assert claimed_s(profile_of(run, AGENT), finding) == 6.0


def test_the_less_of_the_line_is_copying_the_more_goes():
    saved = []
    for waits_s in (0.5, 4.0):
        run = a_line_that_copies("frames_in_one_line", waits_s=waits_s)
        run.sees(AGENT.at(".astype", "frames_in_one_line"), frames=FRAMES)
        saved.append(found(run)[0].savings[0].removable)

    assert saved[0].low > saved[1].low
    assert saved[0].high > saved[1].high


@pytest.mark.parametrize(
    ("function", "piece", "source"),
    [
        ("minibatch", "self.obs[idx].to", "self__obs"),
        ("drawn_before", "rows = self.obs", "self__obs"),
        ("epochs", "batch = obs[idx].to", "obs"),
    ],
)
def test_batches_of_what_is_there_as_a_whole_are_to_be_picked_on_the_gpu(
    function: str, piece: str, source: str
):
    run = a_line_that_copies(function)
    run.sees(AGENT.at(piece, function), **{source: ROLLOUT, "idx": ROWS})

    (finding,) = found(run)

    assert finding.title.startswith("batches are picked out on the host")
    assert finding.evidence[2].startswith(f"{source.replace('__', '.')}: tensor of 1024")


@pytest.mark.parametrize(("memory_gib", "is_told"), [(80, True), (24, False)])
def test_what_would_fill_the_gpu_stays_on_the_host(memory_gib: int, is_told: bool):
    huge = "type=torch.Tensor shape=1000000,4,84,84 dtype=torch.uint8 device=cpu"
    run = a_line_that_copies("minibatch", memory_gib=memory_gib)
    run.sees(AGENT.at("self.obs[idx].to", "minibatch"), self__obs=huge, idx=ROWS)

    assert bool(found(run)) is is_told


@pytest.mark.parametrize(
    ("function", "piece", "values", "changes"),
    [
        pytest.param(
            "frames_as_they_are",
            "from_numpy(frames).to",
            {"frames": FRAMES},
            {},
            id="converted there",
        ),
        pytest.param("observed", "from_numpy(obs)", {"obs": FLOATS}, {}, id="new each time"),
        pytest.param("moved_before", "bfloat16", {"frames": FRAMES}, {}, id="on the GPU by then"),
        pytest.param(
            "alive_ones",
            "seen[alive]",
            {"seen": ROLLOUT, "alive": ROWS},
            {},
            id="made in each turn",
        ),
        pytest.param(
            "minibatch",
            "self.obs[idx].to",
            {"self__obs": ROLLOUT.replace("=cpu", "=cuda"), "idx": ROWS},
            {},
            id="on the GPU already",
        ),
        pytest.param(
            "minibatch",
            "self.obs[idx].to",
            {"self__obs": ROLLOUT, "idx": ROWS.replace("512", "1024")},
            {},
            id="all of it, in another order",
        ),
        pytest.param(
            "frames_in_one_line", ".astype", {"frames": FLOATS}, {}, id="floats from the start"
        ),
        pytest.param(
            "frames_in_one_line", ".astype", {"frames": FRAMES}, {"each": 4096}, id="small copies"
        ),
        pytest.param(
            "frames_in_one_line",
            ".astype",
            {"frames": FRAMES},
            {"calls": FEWEST_COPIES - 1},
            id="a few copies",
        ),
        pytest.param(
            "frames_in_one_line", ".astype", {"frames": FRAMES}, {"takes_s": 0.3}, id="little time"
        ),
        pytest.param("frames_in_one_line", ".astype", {}, {}, id="nothing was seen"),
    ],
)
def test_silent(function: str, piece: str, values: dict[str, str], changes: dict[str, float]):
    run = a_line_that_copies(function, **changes)
    if values:
        run.sees(AGENT.at(piece, function), **values)

    assert found(run) == []
