from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from rlprof.syntax.searches import search_begins_with


def begins(text: str) -> set[str]:
    (function,) = ast.parse(dedent(text)).body
    assert isinstance(function, ast.FunctionDef)
    return set(search_begins_with(function)) & {"start", "goal", "self.at", "limit"}


@pytest.mark.parametrize(
    ("search", "where"),
    [
        (
            """
            def far(beside, start, goal):
                queue, seen = deque([(start, 0)]), {start}
                while queue:
                    cell, steps = queue.popleft()
                    if cell == goal:
                        return steps
                    for other in beside[cell]:
                        if other not in seen:
                            seen.add(other)
                            queue.append((other, steps + 1))
            """,
            {"start"},
        ),
        (
            """
            def far(beside, start, goal):
                queue = deque([(start, 0)])
                seen = {start}
                while queue:
                    cell, steps = queue.popleft()
                    if cell == goal:
                        break
                    for other in beside[cell]:
                        if other not in seen:
                            queue.append((other, steps + 1))
            """,
            {"start"},
        ),
        (
            """
            def far(self, goal):
                heap: list = []
                heapq.heappush(heap, (0, tuple(self.at)))
                known = {}
                while heap:
                    cost, cell = heapq.heappop(heap)
                    known[cell] = cost
                    for other in self.beside[cell]:
                        heapq.heappush(heap, (cost + 1, other))
                return known[goal]
            """,
            {"self.at"},
        ),
        (
            """
            def far(self, start, limit):
                front = [start]
                seen = set(front)
                while front and limit:
                    following = []
                    for cell in front:
                        if cell == self.goal:
                            return limit
                        for other in self.beside[cell]:
                            if other not in seen:
                                following.append(other)
                    front = following
            """,
            {"start"},
        ),
        (
            """
            def far(self, goal):
                begin = tuple(self.at)
                queue = [begin]
                steps = {begin: 0}
                done = 0
                while done < len(queue):
                    cell = queue[done]
                    done += 1
                    for other in self.beside[cell]:
                        if other not in steps:
                            steps[other] = steps[cell] + 1
                            queue.append(other)
                return steps.get(goal, -1)
            """,
            {"self.at"},
        ),
    ],
    ids=["two at once", "deque", "heap", "fronts", "index"],
)
def test_tells_where_a_search_begins(search: str, where: set[str]):
    assert begins(search) == where


@pytest.mark.parametrize(
    "other",
    [
        """
        def drain(queue, start):
            rows = [start]
            while queue:
                rows.append(queue.pop())
        """,
        """
        def pairs(start):
            left = [start]
            while left:
                cell = left.pop()
                left.append(cell + 1)
        """,
        """
        def walk(tree, start):
            while tree[start] not in (None, 0):
                start = tree[start]
        """,
        """
        def region(start, beside):
            queue, seen = deque([start]), {start}
            while queue:
                for other in beside[queue.popleft()]:
                    if other not in seen:
                        seen.add(other)
                        queue.append(other)
            return len(seen)
        """,
        """
        def far(start, goal, beside):
            queue, seen = deque([start]), {start}
            while queue:
                cell = queue.popleft()
                if cell == goal:
                    return True
                for other in beside[cell]:
                    if other not in seen and abs(other - start) < 9:
                        seen.add(other)
                        queue.append(other)
            return False
        """,
        """
        def rows(start, beside):
            found = [start]
            for cell in beside:
                if cell not in found:
                    found.append(cell)
        """,
    ],
    ids=[
        "takes and puts elsewhere",
        "asks nothing",
        "no list",
        "all of a region",
        "within reach of the start",
        "no while",
    ],
)
def test_no_search_begins_in(other: str):
    assert begins(other) == set()
