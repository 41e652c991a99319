"""The call tree of a page: smaller than the recorded one, and with the same time in it."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from rlprof.model.detail import Detail
from rlprof.model.recording import NO_PARENT, Frame, Node, Samples
from rlprof.renderers.html.pruning import IMPORT, PageTree, page_tree
from tests.report_factories import a_bandit_detail, a_detail


def a_wide_detail(times: list[int]) -> Detail:
    """A root with a child for each of ``times`` (µs), and in each of those one more with the same."""
    nodes = [Node(0, NO_PARENT, Frame("train.py", "train", 1))]
    samples = Samples()
    for line, wall in enumerate(times, start=2):
        for parent in (0, len(nodes)):
            nodes.append(Node(len(nodes), parent, Frame("train.py", "step", line)))
            samples.add(0, 0, len(nodes) - 1, wall, wall // 3, wall // 2)
    return Detail(nodes=tuple(nodes), samples=samples)


def wall_of(tree: PageTree, function: str) -> int:
    times = zip(tree.cells.node, tree.cells.wall_us, strict=True)
    return sum(us for node, us in times if tree.nodes[node].frame.function == function)


def test_a_small_run_keeps_every_node_that_has_time():
    detail = a_bandit_detail()

    tree = page_tree(detail)

    assert tree.pruned_share == 0
    assert len(tree.cells.node) == len(detail.samples)


def test_the_frames_of_an_import_are_one_box():
    module, torch = (
        Frame("train.py", "<module>", 3),
        Frame("/venv/lib/python3.11/site-packages/torch/__init__.py", "<module>", 1),
    )
    find = Frame("<frozen importlib._bootstrap>", "_find_and_load", 1176)
    spec = Frame("<frozen importlib._bootstrap>", "_find_spec", 940)
    nodes = ((NO_PARENT, module), (0, find), (1, spec), (0, spec), (3, torch))
    samples = Samples()
    samples.add(0, 0, 2, 100, 0, 100)
    samples.add(0, 0, 4, 200, 0, 200)
    detail = Detail(
        nodes=tuple(Node(number, *node) for number, node in enumerate(nodes)), samples=samples
    )

    tree = page_tree(detail)

    assert [node.frame for node in tree.nodes] == [module, IMPORT, torch]
    assert [node.importing for node in tree.nodes] == [False, True, True]
    assert wall_of(tree, IMPORT.function) == 100


def test_the_time_of_what_is_left_out_stays_with_its_caller():
    detail = a_wide_detail([9_000, 500, 500])

    tree = page_tree(detail, most_nodes=3)

    assert len(tree.nodes) == 3
    assert wall_of(tree, "train") == 4 * 500
    assert tree.pruned_share == 2_000 / 20_000


def test_what_is_left_out_of_too_many_cells_is_the_lightest():
    detail = a_wide_detail([5_000, 4_000, 3_000, 20, 10])

    tree = page_tree(detail, most_cells=4)

    assert len(tree.cells.node) <= 4
    assert max(node.frame.line for node in tree.nodes) < 5


def test_a_finding_keeps_nodes_to_show_however_thin_they_are():
    detail = a_wide_detail([9_000, 8_000, 1])
    thinnest = len(detail.nodes) - 1
    marked = Detail(
        nodes=detail.nodes,
        samples=detail.samples,
        finding_nodes=((1, frozenset({thinnest})),),
    )

    tree = page_tree(marked, most_nodes=1)

    ((rank, nodes),) = tree.finding_nodes
    assert rank == 1
    assert [tree.nodes[node].frame.line for node in nodes] == [4]


def test_a_stack_of_thousands_is_no_reason_to_fail():
    stack = " > ".join(f"f{n} a.py:{n} yours" for n in range(5_000))

    tree = page_tree(a_detail(("0 MainThread", 10.0, stack)), most_nodes=100)

    assert len(tree.nodes) == 100
    assert tree.nodes[-1].parent == 98


@given(
    st.lists(st.integers(0, 10_000), max_size=30), st.integers(1, 40), st.integers(1, 40)
)  # fmt: skip
def test_no_time_is_lost_and_parents_come_first(times, most_nodes, most_cells):
    detail = a_wide_detail(times)

    tree = page_tree(detail, most_nodes=most_nodes, most_cells=most_cells)

    assert sum(tree.cells.wall_us) == sum(detail.samples.wall_us)
    assert sum(tree.cells.idle_us) == sum(detail.samples.idle_us)
    assert sum(tree.cells.cpu_us) == sum(detail.samples.cpu_us)
    assert all(node.parent < number for number, node in enumerate(tree.nodes))
    keys = [*zip(*tree.cells[:3], strict=True)]
    assert keys == sorted(set(keys))


def test_a_thread_that_hardly_ran_keeps_its_time():
    nodes = tuple(Node(at, NO_PARENT, Frame("train.py", f"f{at}", 1)) for at in range(3))
    samples = Samples()
    for node, wall in enumerate((5_000, 20, 10)):
        samples.add(0, 0, node, wall, 0, wall)

    tree = page_tree(Detail(nodes=nodes, samples=samples), most_nodes=1)

    assert tree.pruned_share == 0
    assert [wall_of(tree, f"f{at}") for at in range(3)] == [5_000, 20, 10]


def test_of_a_finding_in_many_places_the_heaviest_are_kept():
    detail = replace(
        a_wide_detail(list(range(1, 26))), finding_nodes=((1, frozenset(range(1, 51, 2))),)
    )

    tree = page_tree(detail, most_nodes=1)

    ((_, nodes),) = tree.finding_nodes
    assert [tree.nodes[node].frame.line for node in nodes] == list(range(7, 27))
