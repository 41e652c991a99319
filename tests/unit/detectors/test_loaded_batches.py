"""``replay-sampling`` on DataLoaders that read item by item what lies in memory."""

from __future__ import annotations

import pytest

from rlprof.detectors.recognisers.calls.searched_places import MIN_SHARE
from rlprof.detectors.recognisers.networks.loaded_batches import LOADED_LONG, LOADED_SHORT
from rlprof.detectors.replay_sampling import DETECTOR
from rlprof.model.finding import Finding
from tests.factories import a_run
from tests.profile_factory import SITE, Script, detect, lines_of

DATA = f"{SITE}/torch/utils/data"
NEXT = f"{DATA}/dataloader.py:734 _BaseDataLoaderIter.__next__"
FETCH = f"{DATA}/_utils/fetch.py:54 _MapDatasetFetcher.fetch"
ITEM = f"{DATA}/dataset.py:211 TensorDataset.__getitem__"
STACK = f"{DATA}/_utils/collate.py:277 collate_tensor_fn"
SAMPLER = f"{DATA}/sampler.py:300 BatchSampler.__iter__"
QUEUE = f"{DATA}/dataloader.py:1450 _MultiProcessingDataLoaderIter._get_data"


def a_script(body: str) -> Script:
    return Script(
        "offline.py",
        f"""
        class Logged:
            def __getitem__(self, i):
                {body}

        def train(loader, learn):
            for batch in loader:
                learn(batch)
        """,
    )


INDEXES = a_script("return self.states[i], self.actions[i].float()")


def a_training(
    *,
    read: float = 2.0,
    stacked: float = 0.4,
    script: Script = INDEXES,
    item: str = ITEM,
    below: tuple[str, ...] = (FETCH,),
) -> list[Finding]:
    at = script.at("for batch in loader", "train")
    run = a_run(steady_s=10.0).process("main", steps=1000)
    run.spends(read, at, NEXT, *below, item).spends(stacked, at, NEXT, *below, STACK)
    run.spends(0.1, at, NEXT, SAMPLER)
    run.spends(9.9 - read - stacked, script.at("learn(batch)", "train"))
    return detect(DETECTOR, run, script)


def test_a_loader_that_reads_single_items_of_tensors_in_memory():
    (finding,) = a_training()

    assert finding.title.startswith("a DataLoader reads and stacks item by item (offline.py:")
    assert lines_of(finding) == [INDEXES.line("for batch in loader")]
    assert [saving.removable for saving in finding.savings] == [LOADED_SHORT]
    # Which items a batch has is still drawn.
    assert finding.evidence[0].startswith("24 % of the steady time")


def test_a_dataset_of_ones_own_that_only_indexes_is_the_same():
    (finding,) = a_training(item=INDEXES.at("return self.states", "Logged.__getitem__"))

    assert [saving.removable for saving in finding.savings] == [LOADED_SHORT]


def test_the_bytes_of_long_rows_are_copied_anyhow():
    (finding,) = a_training(stacked=1.0)

    assert [saving.removable for saving in finding.savings] == [LOADED_LONG]


WORKS = a_script("return augment(self.states[i])")


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"read": 10 * MIN_SHARE * 0.5, "stacked": 0.05}, id="hardly any time"),
        pytest.param({"below": (QUEUE,)}, id="workers make the batches"),
        pytest.param({"stacked": 3.0}, id="rows so long that indexing takes as long"),
        pytest.param(
            {"script": WORKS, "item": WORKS.at("return augment", "Logged.__getitem__")},
            id="items that are worked on",
        ),
    ],
)
def test_silent_where_indexing_does_not_take_its_place(changes: dict[str, object]):
    assert a_training(**changes) == []
