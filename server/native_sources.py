"""What mypyc compiles in place of the sources: the classes that it cannot make, written out.

The sources say in one line what a value is: `class Pair(Struct, frozen=True)`; msgspec makes the
class of it when it is imported. mypyc wants to see each method: then a field is a load from memory
and a construction a call of C, where both would go through dicts. The same holds for `once`.

What is compiled behaves as the sources do, but for one thing: that nobody changes a frozen value
is left to mypy's check of the sources.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

SUBCLASSED: Final = {"Observer"}
"""Classes that `app` inherits from: what is not compiled can inherit from these only."""

_VALUE = """
def __init__(self, {parameters}) -> None:
    {assignments}

__match_args__: ClassVar = {names}

def __eq__(self, other: object) -> Any:
    return _same(self, other) if isinstance(other, {kind}) else NotImplemented

def __repr__(self) -> str:
    return _shown(self)

def __reduce__(self) -> tuple[Any, ...]:
    return _parts_of(self)
"""

_FROZEN_VALUE = """
def __hash__(self) -> int:
    return hash(({kind}, {values}))
"""

_ONCE = """
_has_{name}: bool = False
_kept_{name}: {type}

@property
def {name}(self) -> {type}:
    if not self._has_{name}:
        self._kept_{name} = self._compute_{name}()
        self._has_{name} = True
    return self._kept_{name}
"""

_IMPORTS = """
from typing import TYPE_CHECKING, Any, ClassVar
from sidecall_server.domain.fields import (
    parts_of as _parts_of, same as _same, shown as _shown
)
if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr
"""


def native(source: str) -> str:
    """The source of a module as it is compiled; the same where all its classes are plain."""
    tree = ast.parse(source)
    changed = [_write_out(node) for node in tree.body if isinstance(node, ast.ClassDef)]
    if not any(changed):
        return source
    after_docstring_and_future = 2
    tree.body[after_docstring_and_future:after_docstring_and_future] = ast.parse(_IMPORTS).body
    return ast.unparse(tree)


def _write_out(node: ast.ClassDef) -> bool:
    """Write a class out where it takes that."""
    before = ast.unparse(node)
    if [ast.unparse(base) for base in node.bases] == ["Struct"]:
        _write_value(node)
    if node.name in SUBCLASSED:
        decorator = ast.parse("mypyc_attr(allow_interpreted_subclasses=True)", mode="eval")
        node.decorator_list.append(decorator.body)
    node.body = [written for statement in node.body for written in _without_once(statement)]
    return ast.unparse(node) != before


def _write_value(node: ast.ClassDef) -> None:
    fields = [
        statement
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
        and not ast.unparse(statement.annotation).startswith("ClassVar")
    ]
    names = [ast.unparse(field.target) for field in fields]
    is_checked = any(getattr(statement, "name", "") == "__post_init__" for statement in node.body)
    assignments = [f"self.{name} = {name}" for name in names]
    text = _VALUE.format(
        kind=node.name,
        names=tuple(names),
        parameters=", ".join([ast.unparse(field) for field in fields]),
        assignments="; ".join([*assignments, "self.__post_init__()" if is_checked else "pass"]),
    )
    if any(keyword.arg == "frozen" for keyword in node.keywords):
        values = "".join([f"self.{name}, " for name in names])
        text += _FROZEN_VALUE.format(kind=node.name, values=values)
    for field in fields:
        field.value = None  # a default is the parameter's
    node.bases, node.keywords = [], []
    node.body += ast.parse(text).body


def _without_once(statement: ast.stmt) -> Iterator[ast.stmt]:
    marks = [ast.unparse(mark) for mark in getattr(statement, "decorator_list", [])]
    if not isinstance(statement, ast.FunctionDef) or "once" not in marks:
        yield statement
    elif "abstractmethod" in marks:
        statement.decorator_list[marks.index("once")] = ast.Name("property")
        yield statement
    else:
        assert statement.returns is not None, "mypy checks that it is there"
        text = _ONCE.format(name=statement.name, type=ast.unparse(statement.returns))
        yield from ast.parse(text).body
        statement.name = f"_compute_{statement.name}"
        statement.decorator_list = []
        yield statement
