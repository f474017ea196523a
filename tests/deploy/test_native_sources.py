"""What is compiled in place of a value's class does what the class does."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import sys
import types
from collections.abc import Callable, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from unittest import mock

import pytest
from msgspec import Struct
from sidecall_server.domain.fields import fields_of, names_of, replace

from tests.app.processes import ROOT

SOURCES = ROOT / "server" / "sidecall_server"
SAMPLE = '''"""Sample."""

from __future__ import annotations

from msgspec import Struct
from sidecall_server.domain.fields import set_field
from sidecall_server.domain.once import once


class Pair(Struct, frozen=True):
    """Two."""

    first: int
    second: str = "2"

    def __post_init__(self) -> None:
        if self.first < 0:
            raise ValueError("negative")
        set_field(self, "second", self.second.strip())

    @property
    def sum(self) -> str:
        return f"{self.first}{self.second}"


class Other(Struct, frozen=True):
    first: int
    second: str = "2"


class Nothing(Struct, frozen=True):
    """No fields."""


class Counts(Struct):
    one: int = 0


class Lazy:
    def __init__(self) -> None:
        self.computed = 0

    @once
    def answer(self) -> int | None:
        """Once."""
        self.computed += 1
        return None
'''


def _native() -> Callable[[str], str]:
    spec = spec_from_file_location("native_sources", ROOT / "server" / "native_sources.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    native: Callable[[str], str] = module.native
    return native


native = _native()


def _module(name: str, source: str) -> types.ModuleType:
    module = types.ModuleType(name)
    exec(compile(source, name, "exec"), module.__dict__)
    return module


@pytest.fixture(params=["msgspec", "written out"])
def sample(request: pytest.FixtureRequest) -> Iterator[types.ModuleType]:
    """The sample as it is, and as it is compiled; both have to pass every test."""
    is_native = request.param == "written out"
    module = _module("sample", native(SAMPLE) if is_native else SAMPLE)
    assert issubclass(module.Pair, Struct) is not is_native
    sys.modules["sample"] = module  # where pickle looks
    yield module
    del sys.modules["sample"]


def test_a_value_is_made_of_its_fields(sample: types.ModuleType) -> None:
    pair = sample.Pair(1, second=" x ")
    assert (pair.first, pair.second, pair.sum) == (1, "x", "1x")
    assert sample.Pair(1) == sample.Pair(first=1, second="2")
    for wrong in ((), (1, "2", 3)):
        with pytest.raises(TypeError):
            sample.Pair(*wrong)
    with pytest.raises(ValueError, match="negative"):
        sample.Pair(-1)


def test_values_are_equal_where_kind_and_fields_are(sample: types.ModuleType) -> None:
    one = sample.Pair(1)
    assert one == sample.Pair(1)
    assert hash(one) == hash(sample.Pair(1))
    assert one != sample.Pair(2)
    assert one != sample.Other(1)
    assert one != (1, "2")
    assert one == mock.ANY
    assert hash(one) != hash(sample.Other(1)), "an ended call is known by its hash"
    assert sample.Nothing() == sample.Nothing()
    assert len({one, sample.Pair(1), sample.Pair(2)}) == 2


def test_a_value_that_changes_has_no_hash(sample: types.ModuleType) -> None:
    counts = sample.Counts()
    counts.one += 1
    assert counts == sample.Counts(1)
    with pytest.raises(TypeError):
        hash(counts)


def test_fields_are_found_shown_and_replaced(sample: types.ModuleType) -> None:
    pair = sample.Pair(1, "x")
    assert names_of(sample.Pair) == ("first", "second")
    assert fields_of(pair) == {"first": 1, "second": "x"}
    assert repr(pair) == "Pair(first=1, second='x')"
    assert repr(sample.Nothing()) == "Nothing()"
    assert replace(pair, second=" y") == sample.Pair(1, "y")
    with pytest.raises(ValueError, match="negative"):
        replace(pair, first=-1)
    with pytest.raises(TypeError):
        replace(pair, third=3)
    match pair:
        case sample.Pair(first, second):
            assert (first, second) == (1, "x")
        case _:
            pytest.fail("its fields have an order")


def test_values_are_copied_and_pickled(sample: types.ModuleType) -> None:
    for value in (sample.Pair(1, "x"), sample.Nothing(), sample.Counts(3)):
        assert copy.copy(value) == value
        assert pickle.loads(pickle.dumps(value)) == value


def test_what_is_computed_once_is_computed_once(sample: types.ModuleType) -> None:
    lazy = sample.Lazy()
    assert lazy.computed == 0
    assert lazy.answer is lazy.answer is None
    assert lazy.computed == 1


def test_a_module_of_plain_classes_stays_as_it_is() -> None:
    source = (
        '"""Plain."""\n\nfrom __future__ import annotations\n\n\nclass Plain:  # a comment\n  ...'
    )
    assert native(source) == source


@pytest.mark.interpreted
@pytest.mark.parametrize(
    "path",
    [path for path in sorted(SOURCES.rglob("*.py")) if "(Struct" in path.read_text()],
    ids=str,
)
def test_every_value_is_made_as_its_source_says(path: Path) -> None:
    name = ".".join(path.relative_to(SOURCES.parent).with_suffix("").parts)
    ours = importlib.import_module(name)
    written = _module(name, native(path.read_text()))
    values = [kind for kind in vars(ours).values() if isinstance(kind, type(Struct))]
    values = [kind for kind in values if kind.__module__ == name]
    assert values
    for kind in values:
        twin = getattr(written, kind.__name__)
        assert names_of(twin) == names_of(kind)
        parameters = inspect.signature(twin).parameters.values()
        assert tuple(parameter.name for parameter in parameters) == names_of(kind)
        defaults = [one.default for one in parameters if one.default is not one.empty]
        assert repr(tuple(defaults)) == repr(kind.__struct_defaults__)
