from __future__ import annotations

import pytest

from rlprof.detectors.padded_sequences import DETECTOR, LONGEST, UNKNOWN
from rlprof.model.finding import Finding, Range
from tests.factories import RunBuilder, a_run
from tests.profile_factory import SITE, Script, claimed_s, detect, lines_of, profile_of

TRAIN = Script(
    "train.py",
    """
    import numpy as np
    import torch

    LIMIT = 100

    class Trainer:
        def collate(self, episodes):
            rows = np.zeros((len(episodes), LIMIT, 4))
            for i, episode in enumerate(episodes):
                rows[i, :len(episode)] = episode
            return torch.from_numpy(rows)

        def update(self, episodes):
            values = self.net(self.collate(episodes))
            loss = values.pow(2).mean()
            loss.backward()
            self.optimizer.step()

        def look_ahead(self, episodes):
            return self.net(self.collate(episodes))

        def other_update(self, batch):
            loss = self.net(batch).mean()
            loss.backward()

    def main(trainer, env):
        while True:
            trainer.update(trainer.collect(env))
            trainer.other_update(env.batch)
    """,
)
CALL = f"{SITE}/torch/nn/modules/module.py:1790 Module._call_impl"
GRU = f"{SITE}/torch/nn/modules/rnn.py:1300 GRU.forward"
RELU = f"{SITE}/torch/nn/modules/activation.py:130 ReLU.forward"
BACKWARD = f"{SITE}/torch/autograd/graph.py:869 _engine_run_backward"
FILLS = TRAIN.at("rows[i, :", "Trainer.collate")
UPDATES = TRAIN.at("trainer.update", "main")
ASKS = TRAIN.at("values = self.net", "Trainer.update")


def a_training(*, seen: list[str] | None = None, layer: str = GRU) -> RunBuilder:
    """Ten seconds, three in the network's forward passes, four in the backward pass, one where sequences are filled up."""
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(3.0, UPDATES, ASKS, CALL, layer)
    run.spends(4.0, UPDATES, TRAIN.at("loss.backward()", "Trainer.update"), BACKWARD)
    run.spends(1.0, UPDATES, ASKS, FILLS).spends(2.0, UPDATES)
    if seen:
        run.sees(FILLS, episode=seen, rows="type=numpy.ndarray shape=16,100,4 dtype=f8")
    return run


def found(run: RunBuilder) -> list[Finding]:
    return detect(DETECTOR, run, TRAIN)


def arrays(*lengths: int) -> list[str]:
    return [f"type=numpy.ndarray shape={length},4 dtype=f8" for length in lengths]


def test_tells_updates_on_sequences_that_are_filled_up():
    run = a_training()

    (finding,) = found(run)

    line = TRAIN.line("rows[i, :")
    assert finding.title == f"sequences are filled up to a fixed length (train.py:{line})"
    assert lines_of(finding) == [line]
    assert claimed_s(profile_of(run, TRAIN), finding) == pytest.approx(7.0)
    assert finding.evidence[1] == (
        "to LIMIT, whatever the length of episode; how long they are was not seen"
    )
    assert finding.savings[0].removable == UNKNOWN


def test_the_price_is_what_was_seen_of_their_lengths():
    (finding,) = found(a_training(seen=arrays(30, 20, 40)))

    assert finding.savings[0].removable == Range(
        pytest.approx(1 - LONGEST * 0.3), pytest.approx(0.7)
    )
    assert finding.evidence[1].endswith("20 to 40 of 100 were seen")


def test_lengths_are_seen_where_the_sequences_are_handed_over():
    run = a_training()
    run.sees(FILLS, rows="type=numpy.ndarray shape=16,100,4 dtype=f8")
    run.sees(TRAIN.at("loss.backward()", "Trainer.update"), **{"episodes[0]": arrays(50, 60, 40)})

    (finding,) = found(run)

    assert finding.savings[0].removable == Range(pytest.approx(0.25), pytest.approx(0.5))


def test_full_sequences_save_nothing():
    for lengths in ((99, 101), (100,)):
        (finding,) = found(a_training(seen=arrays(*lengths)))
        assert finding.savings[0].removable.high == 0.0


BLOCK = Script(
    "model.py",
    """
    class Block:
        def forward(self, x):
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.out(y)

    class Head:
        def forward(self, x):
            return F.softmax(self.out(x), -1)
    """,
)


@pytest.mark.parametrize(("line", "times"), [("y = F.scaled", 1), ("return F.softmax", 0)])
def test_attention_of_ones_own_goes_through_sequences(line: str, times: int):
    name = "Block.forward" if times else "Head.forward"
    run = a_training(layer=BLOCK.at(line, name))

    assert len(detect(DETECTOR, run, TRAIN, BLOCK)) == times


def test_silent_for_a_network_whose_layers_are_as_wide():
    assert found(a_training(layer=RELU)) == []


@pytest.mark.parametrize(
    "line", ["packed = pack_padded_sequence(rows, lengths)", "net = torch.compile(net)"]
)
def test_silent_where_the_source_takes_care_of_it(line):
    script = Script("train.py", TRAIN.text.rstrip() + f"\n\n{line}\n")
    assert detect(DETECTOR, a_training(), script) == []


def test_silent_for_updates_on_other_batches():
    run = a_run(steady_s=10.0).process("main", steps=1000)
    above = TRAIN.at("trainer.other_update", "main")
    run.spends(5.0, above, TRAIN.at("loss = self.net(batch)", "Trainer.other_update"), CALL, GRU)
    run.spends(4.0, above, TRAIN.at("loss.backward()", "Trainer.other_update"), BACKWARD)
    run.spends(1.0, UPDATES, ASKS, FILLS)

    assert found(run) == []


def test_silent_where_no_update_is_made():
    asks = TRAIN.at("return self.net(self.collate", "Trainer.look_ahead")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(5.0, UPDATES, asks, CALL, GRU).spends(5.0, UPDATES, asks, FILLS)

    assert found(run) == []


def test_lengths_of_a_list_that_grows_as_it_is_filled_up_tell_nothing():
    text = TRAIN.text.replace("        rows = np.zeros((len(episodes), LIMIT, 4))\n", "", 1)
    text = text.replace("for i, episode in enumerate(episodes)", "for episode in episodes")
    grown = "    while len(episode) < LIMIT:\n                    episode.append(0)"
    text = text.replace("            rows[i, :len(episode)] = episode", f"        {grown}")
    script = Script("train.py", text.replace("from_numpy(rows)", "tensor(episodes)"))
    run = a_training(
        seen=["type=list length=70 first.type=float", "type=list length=90 first.type=float"]
    )

    (finding,) = detect(DETECTOR, run, script)

    assert finding.savings[0].removable == UNKNOWN


def test_what_is_handed_on_may_be_made_of_what_is_filled_up():
    script = Script(
        "train.py",
        TRAIN.text.replace(
            "return torch.from_numpy(rows)",
            "batch = torch.from_numpy(rows)\n        return batch",
        ),
    )
    assert len(detect(DETECTOR, a_training(), script)) == 1


WINDOWS = Script(
    TRAIN.file,
    TRAIN.text.replace(
        "            rows[i, :len(episode)] = episode\n",
        "            part = episode[max(0, ends[i] - LIMIT) : ends[i]]; "
        "rows[i, LIMIT - len(part):] = part\n",
    ),
)


@pytest.mark.parametrize(
    ("seen", "is_told"), [([], False), ([100, 40], False), ([40, 100], False), ([30, 40], True)]
)
def test_windows_of_which_some_are_full_leave_nothing_to_gain(seen: list[int], is_told: bool):
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(3.0, UPDATES, ASKS, CALL, GRU).spends(1.0, UPDATES, ASKS, FILLS)
    run.spends(6.0, UPDATES)
    if seen:
        rows = "type=numpy.ndarray shape=16,100,4 dtype=f8"
        run.sees(FILLS, part=arrays(*seen), rows=rows)

    assert "LIMIT - len(part)" in WINDOWS.text
    assert bool(detect(DETECTOR, run, WINDOWS)) is is_told


def test_the_middle_length_is_that_of_the_looks_and_not_of_the_different_lengths():
    (finding,) = found(a_training(seen=arrays(100, 20, 100, 40, 100)))

    assert finding.savings[0].removable == Range(0.0, 0.0)
