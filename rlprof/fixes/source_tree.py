"""One source file as a concrete syntax tree, in which nodes are replaced and all else stays as it is, byte by byte."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import libcst as cst
from libcst.codemod import CodemodContext
from libcst.codemod.visitors import AddImportsVisitor
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider

from rlprof.fixes.base import CannotFixError, Case, Place, Rewriting
from rlprof.syntax.module import SourceModule, parse

Change: TypeAlias = Callable[[Any], Any]
"""From a node, with what was changed inside of it, to what takes its place."""
Line: TypeAlias = cst.SimpleStatementLine | cst.BaseCompoundStatement

_BODIES: Final = (
    cst.IndentedBlock,
    cst.Else,
    cst.Finally,
    cst.ExceptHandler,
    cst.ExceptStarHandler,
    cst.MatchCase,
)


class SourceTree:
    """A file's text, and the changes that are gathered for it."""

    def __init__(self, text: str) -> None:
        """Raise :class:`CannotFixError` where the text cannot be read, or not be written again as it is."""
        self.text = text
        names = parse(text)
        try:
            wrapper = MetadataWrapper(cst.parse_module(text))
        except (cst.ParserSyntaxError, RecursionError) as error:
            raise CannotFixError("its file is not Python that libcst can read") from error
        if names is None:
            raise CannotFixError("its file is not Python that can be read")
        self.module = wrapper.module
        if self.module.code != text:
            raise CannotFixError("its file has form feeds or line ends that would be lost")
        self.names: SourceModule = names
        self._positions = wrapper.resolve(PositionProvider)
        self._parents = wrapper.resolve(ParentNodeProvider)
        self._changes: dict[int, Change] = {}
        self._imports: list[tuple[str, str | None, str | None]] = []

    # --- what is there -----------------------------------------------------------------------

    def lines(self, node: cst.CSTNode) -> range:
        """The lines of a node, without those of the comments above it."""
        position = self._positions[node]
        assert not callable(position)
        return range(position.start.line, position.end.line + 1)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode:
        return self._parents[node]

    def above(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield what a node is in, from inside to outside."""
        while node is not self.module:
            node = self._parents[node]
            yield node

    def statement(self, line: int) -> Line:
        """The innermost statement one of whose own lines ``line`` is."""
        found: Line | None = None
        for node in self._positions:
            if isinstance(node, cst.SimpleStatementLine | cst.BaseCompoundStatement):
                lines = self.lines(node)
                if line in lines and (found is None or len(lines) <= len(self.lines(found))):
                    found = node
        if found is None:
            raise CannotFixError("its line has no statement of its own")
        return found

    def simple_statement(self, line: int) -> cst.SimpleStatementLine:
        """The same, where it is a statement by itself, on lines of its own."""
        found = self.statement(line)
        if not isinstance(found, cst.SimpleStatementLine):
            raise CannotFixError("its line is the head of a block")
        if len(found.body) > 1:
            raise CannotFixError("its line holds several statements")
        return found

    def calls(self, statement: cst.CSTNode) -> Sequence[cst.Call]:
        """The calls on a statement's own lines, those that are made of others first."""
        return [node for node in self.own_nodes(statement) if isinstance(node, cst.Call)]

    def own_nodes(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield all nodes of a statement, but for its body."""
        yield node
        for child in node.children:
            if not isinstance(child, _BODIES):
                yield from self.own_nodes(child)

    def nodes(self, kind: type[cst.CSTNode]) -> Iterator[Any]:
        return (node for node in self._positions if isinstance(node, kind))

    def code(self, node: cst.CSTNode) -> str:
        return self.module.code_for_node(node)

    def expression(self, node: cst.BaseExpression) -> ast.expr:
        """The same expression as Python's own tree has it, with what names stand for."""
        tree = ast.parse(f"({self.code(node)}\n)", mode="eval").body
        for name in ast.walk(tree):
            if isinstance(name, ast.Name) and name.id in self.names.imports:
                name.stands_for = self.names.imports[name.id]  # type: ignore[attr-defined]  # as syntax/module.py does
        return tree

    def written(self, node: cst.BaseExpression) -> str:
        """An expression as operands of values are told: ``batch['obs']``."""
        return ast.unparse(self.expression(node))

    def has_comments(self, node: cst.CSTNode) -> bool:
        return isinstance(node, cst.Comment) or any(map(self.has_comments, node.children))

    def indent_around(self, node: cst.CSTNode) -> str | None:
        """The indent of the block that a node is in; None for the file's usual one."""
        return next(
            (block.indent for block in self.above(node) if isinstance(block, cst.IndentedBlock)),
            None,
        )

    # --- what becomes of it -------------------------------------------------------------------

    def replace(self, node: cst.CSTNode, change: Change) -> None:
        before = self._changes.get(id(node))
        self._changes[id(node)] = change if before is None else lambda new: change(before(new))

    def is_changed(self, node: cst.CSTNode) -> bool:
        return id(node) in self._changes

    def put_before(self, statement: Line, *lines: str) -> None:
        """Put statements before another one, below the comments that are above it."""

        def change(updated: Any) -> Any:
            first, *others = self._made(lines)
            above = updated.leading_lines
            return cst.FlattenSentinel(
                [
                    first.with_changes(leading_lines=above),
                    *others,
                    updated.with_changes(leading_lines=()),
                ]
            )

        self.replace(statement, change)

    def put_after_imports(self, last: cst.SimpleStatementLine, line: str) -> None:
        """Put a statement below the last import, with an empty line between."""

        def change(updated: Any) -> Any:
            (made,) = self._made([line])
            # Behind an import that is added, libcst puts one by itself.
            above = () if self._imports else (cst.EmptyLine(indent=False),)
            return cst.FlattenSentinel([updated, made.with_changes(leading_lines=above)])

        self.replace(last, change)

    def _made(self, lines: Sequence[str]) -> list[Any]:
        return [cst.parse_statement(line, config=self.module.config_for_parsing) for line in lines]

    def put_into(self, statement: cst.SimpleStatementLine, head: str) -> None:
        """Put a statement into a block of its own, ``with torch.no_grad():``; comments above it stay above."""
        indent = self.indent_around(statement)

        def change(updated: cst.SimpleStatementLine) -> Any:
            made: Any = cst.parse_statement(
                f"{head}\n    pass\n", config=self.module.config_for_parsing
            )
            inner = cst.IndentedBlock([updated.with_changes(leading_lines=())], indent=indent)
            return made.with_changes(body=inner, leading_lines=updated.leading_lines)

        self.replace(statement, change)

    def name_of(self, module: str, usual: str) -> str:
        """The name that the file's own level has for a module; it is imported under its ``usual`` one where there is none."""
        for node in self.names.tree.body:
            for alias in node.names if isinstance(node, ast.Import) else ():
                local = alias.asname or alias.name.partition(".")[0]
                if self.names.imports.get(local) == module:
                    return local
        self._check_free(usual, module)
        self._add_import((module, None, usual if usual != module else None))
        return usual

    def need_import(self, module: str, name: str) -> None:
        """Have ``name`` imported from a module, under that name."""
        self._check_free(name, f"{module}.{name}")
        self._add_import((module, name, None))

    def _add_import(self, needed: tuple[str, str | None, str | None]) -> None:
        if needed not in self._imports:
            self._imports.append(needed)

    def _check_free(self, name: str, full: str) -> None:
        if self.names.imports.get(name) == full:
            return
        for node in ast.walk(self.names.tree):
            bound = (
                (isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and node.id)
                or (isinstance(node, ast.arg) and node.arg)
                or (
                    isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
                    and node.name
                )
                or (isinstance(node, ast.alias) and (node.asname or node.name))
            )
            if bound == name:
                raise CannotFixError(f"its file uses the name {name} for something else, too")

    @property
    def changed(self) -> str:
        """The text with all changes. Raises :class:`CannotFixError` where there are none, or it would be no Python."""
        module = self.module.visit(_Replacing(self._changes))
        assert isinstance(module, cst.Module)
        for needed, name, alias in self._imports:
            context = CodemodContext()
            AddImportsVisitor.add_needed_import(context, needed, name, alias)
            module = AddImportsVisitor(context).transform_module(module)
        text = module.code
        if text == self.text:
            raise CannotFixError("there is nothing to change")
        try:
            ast.parse(text)
        except SyntaxError as error:
            raise CannotFixError("the changed text would not be Python") from error
        return text


class _Replacing(cst.CSTTransformer):
    def __init__(self, changes: dict[int, Change]) -> None:
        super().__init__()
        self._changes = changes

    def on_leave(self, original_node: Any, updated_node: Any) -> Any:
        change = self._changes.get(id(original_node))
        return updated_node if change is None else change(updated_node)


def rewritten(case: Case, change: Callable[[SourceTree, Place], None]) -> Rewriting:
    """Change each place by itself, and tell of those that cannot be. Raises :class:`CannotFixError` where none can."""
    places: dict[str, list[Place]] = defaultdict(list)
    for place in case.places:
        places[place.file].append(place)
    texts, left = {}, []
    for file, own in places.items():
        done = False
        try:
            tree = SourceTree(case.texts[file])
        except CannotFixError as error:
            left += [(place.short, str(error)) for place in own]
            continue
        for place in own:
            try:
                change(tree, place)
                done = True
            except CannotFixError as error:
                left.append((place.short, str(error)))
        if done:
            texts[file] = tree.changed
    if not texts:
        raise CannotFixError(": ".join(left[0]) if left else "it names no line of yours")
    return Rewriting(texts, [f"{where}: {why}" for where, why in left])
