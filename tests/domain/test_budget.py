"""A prompt's records fit into 32 KiB, and none is lost from the count (SPEC M, S5)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sidecall_server.domain.budget import Bound, BoundedItem, Calls, bound
from sidecall_server.domain.executed_call import (
    ExecutedCall,
    Truncation,
    executed_calls_json,
    metadata_bytes,
)
from sidecall_server.domain.limits import (
    MAX_CALL_ARGUMENT_BYTES,
    MAX_EXECUTED_CALL_BYTES,
    MAX_UINT64,
)

from tests.domain import recorder_vectors as vectors

_VECTORS = vectors.read("bound")


def _raw(argument_bytes: int, name: str = "t") -> ExecutedCall:
    return ExecutedCall.raw(name, '"' + "x" * (argument_bytes - 2) + '"')


def _names(characters: str) -> st.SearchStrategy[str]:
    return st.builds(lambda c, n: c * n, st.sampled_from(characters), st.integers(0, 9000))


_names_of_any_size = st.sampled_from(["t", ""]) | _names("a\x00é漢😀")
_call_sizes = st.sampled_from([2, 4, 40, 1000, 8000, 8192, 8193, 20_000]) | st.integers(2, 9000)
_raw_calls = st.builds(_raw, _call_sizes, _names_of_any_size)
_counts = st.integers(0, 5000) | st.just(1 << 40)
_markers = st.builds(
    ExecutedCall.marker,
    _names_of_any_size,
    st.builds(Truncation, _counts, _counts, st.none() | _counts, st.none() | _counts),
)
_call_lists = st.lists(_raw_calls | _markers, max_size=6).map(tuple) | st.builds(
    lambda call, count: (call,) * count,
    st.builds(_raw, st.sampled_from([2, 90, 900]), st.sampled_from(["t", "\x00" * 50])),
    st.integers(50, 400),
)
_items = st.lists(st.builds(BoundedItem, _call_lists, st.booleans()), max_size=8)


def _total_bytes(items: list[BoundedItem]) -> int:
    return sum(metadata_bytes(item.calls, item.has_turn_id) for item in items)


def _represented(items: list[BoundedItem]) -> int:
    return sum(call.represented_calls for item in items for call in item.calls)


def _bound(items: list[BoundedItem], *, recent: bool) -> list[BoundedItem]:
    after = bound(items, prioritize_recent=recent).items
    return [item._replace(calls=calls) for item, calls in zip(items, after, strict=True)]


def _item(*calls: ExecutedCall, has_turn_id: bool = False) -> BoundedItem:
    return BoundedItem(calls, has_turn_id)


@pytest.mark.parametrize("line", _VECTORS, ids=lambda line: line["name"])
def test_items_are_bounded_as_the_reference_bounds_them(line: vectors.Json) -> None:
    items = list(map(vectors.bounded_item, line["request"]["items"]))
    bounded = _bound(items, recent=line["request"]["prioritize_recent"])
    assert [
        {
            "index": index,
            "metadata_bytes": metadata_bytes(*item),
            "executed_tool_calls_json": executed_calls_json(item.calls).decode(),
        }
        for index, item in enumerate(bounded)
        if item.calls
    ] == line["expect"]["items"]


def test_no_vector_is_left_out() -> None:
    assert len(_VECTORS) == 127


@given(_items, st.booleans())
@settings(max_examples=150, deadline=None)
def test_the_total_fits_and_every_call_stays_counted(
    items: list[BoundedItem], recent: bool
) -> None:
    bounded = _bound(items, recent=recent)
    assert _total_bytes(bounded) <= MAX_EXECUTED_CALL_BYTES
    assert _represented(bounded) == _represented(items)
    assert not any(call.oversize for item in bounded for call in item.calls)


@given(_items, st.booleans(), st.booleans())
@settings(max_examples=100, deadline=None)
def test_a_second_run_changes_nothing(items: list[BoundedItem], first: bool, second: bool) -> None:
    once = _bound(items, recent=first)
    assert bound(once, prioritize_recent=second) == Bound([item.calls for item in once])


@given(_items, st.booleans())
@settings(max_examples=100, deadline=None)
def test_every_record_left_is_one_that_was_given_or_its_marker(
    items: list[BoundedItem], recent: bool
) -> None:
    for before, after in zip(items, _bound(items, recent=recent), strict=True):
        given_calls = iter(before.calls)
        for call in after.calls:
            assert any(_is_or_marks(call, candidate) for candidate in given_calls)


def _is_or_marks(after: ExecutedCall, before: ExecutedCall) -> bool:
    if after == before:
        return True
    name_bytes = before.original_name_bytes
    if name_bytes is None and after.name != before.name:
        name_bytes = len(before.name.encode())
    return (
        after.truncation is not None
        and before.name.startswith(after.name)
        and after.original_bytes == before.original_bytes
        and after.original_name_bytes == name_bytes
    )


@given(_items, st.booleans())
@settings(max_examples=100, deadline=None)
def test_what_the_budget_cuts_and_omits_is_counted(items: list[BoundedItem], recent: bool) -> None:
    result = bound(items, prioritize_recent=recent)
    before = [call for item in items for call in item.calls]
    after = [call for calls in result.items for call in calls]
    assert result.omitted_calls == len(before) - len(after)
    markers_before = sum(call.truncation is not None or call.oversize for call in before)
    markers_after = sum(call.truncation is not None for call in after)
    new_markers = markers_after - markers_before
    assert max(0, new_markers) <= result.truncated_calls <= new_markers + result.omitted_calls


@pytest.mark.parametrize("recent", [True, False])
def test_items_within_the_budget_keep_their_very_records(recent: bool) -> None:
    items = [_item(_raw(8192)), _item(), _item(_raw(4), _raw(8000), has_turn_id=True)]
    assert bound(items, prioritize_recent=recent) == Bound([item.calls for item in items])


@pytest.mark.parametrize("over_bytes", [0, 1])
def test_the_limit_itself_still_fits(over_bytes: int) -> None:
    calls = [_raw(8000)] * 4
    spare_bytes = MAX_EXECUTED_CALL_BYTES - _total_bytes([_item(*calls)])
    around_bytes = len(',{"name":"","arguments":}')
    items = [_item(*calls, _raw(spare_bytes - around_bytes + over_bytes, name=""))]
    assert _total_bytes(items) == MAX_EXECUTED_CALL_BYTES + over_bytes
    assert (_bound(items, recent=False) == items) is (over_bytes == 0)


@pytest.mark.parametrize(
    ("size", "truncation"), [(8192, None), (8193, Truncation(8193, MAX_CALL_ARGUMENT_BYTES))]
)
def test_one_call_has_a_limit_though_the_prompt_fits(
    size: int, truncation: Truncation | None
) -> None:
    result = bound([_item(_raw(size))], prioritize_recent=False)
    assert [call.truncation for call in result.items[0]] == [truncation]
    assert (result.truncated_calls, result.omitted_calls) == (0, 0)


def test_recent_priority_keeps_the_last_items_whole() -> None:
    items = [_item(_raw(8000, f"t{number}")) for number in range(6)]
    kept = bound(items, prioritize_recent=True).items
    assert kept[2:] == [item.calls for item in items[2:]]
    assert all(call.truncation for calls in kept[:2] for call in calls)


def test_fair_shares_leave_something_of_every_item() -> None:
    items = [_item(*[_raw(8000)] * 5), _item(_raw(3000)), _item(_raw(3000))]
    kept = bound(items, prioritize_recent=False).items
    assert [len(calls) for calls in kept[1:]] == [1, 1]
    assert kept[1:] == [items[1].calls, items[2].calls]


def test_a_later_smaller_call_survives_a_large_one() -> None:
    name = "n" * 4000
    items = [_item(*[_raw(8000)] * 4, _raw(8000, name), _raw(4, "small"))]
    kept = bound(items, prioritize_recent=True).items[0]
    assert [call.name for call in kept] == ["t", "t", "t", "t", "small"]
    assert sum(call.represented_calls for call in kept) == 6


@pytest.mark.parametrize("recent", [True, False])
def test_the_oldest_survivor_stands_for_what_is_gone(recent: bool) -> None:
    items = [_item(_raw(2)) for _ in range(1000)]
    kept: list[Calls] = bound(items, prioritize_recent=recent).items
    survivors = [call for calls in kept for call in calls]
    assert survivors[0].truncation == Truncation(2, 0, 1000 - len(survivors))
    assert all(call.truncation is None for call in survivors[1:])


def test_a_surviving_marker_keeps_its_limit_when_it_takes_the_difference() -> None:
    first = ExecutedCall.marker("t", Truncation(9000, 8192, 5, 77))
    items = [_item(first, *[_raw(8000)] * 3, *[_raw(8000, "n" * 9000)] * 2)]
    kept = bound(items, prioritize_recent=False).items[0]
    assert kept[0].truncation == Truncation(9000, 8192, 7, 77)


@pytest.mark.parametrize("recent", [True, False])
def test_a_single_call_with_an_endless_name_says_that_it_omits_nothing(recent: bool) -> None:
    calls = _item(ExecutedCall.raw("\x00" * 8192, "1"))
    result = bound([calls], prioritize_recent=recent)
    (call,) = result.items[0]
    assert call.name == "\x00" * 4096
    assert call.truncation == Truncation(1, 0, 0, 8192)
    assert call.encoded.endswith(b'"max_bytes":0,"omitted_calls":0,"original_name_bytes":8192}}}')
    assert (result.truncated_calls, result.omitted_calls) == (1, 0)


@pytest.mark.parametrize(("recent", "survivor"), [(True, "b"), (False, "a")])
def test_when_nothing_fits_the_first_call_in_order_is_kept(recent: bool, survivor: str) -> None:
    items = [_item(*[ExecutedCall.raw(letter + "\x00" * 6000, "1")] * 2) for letter in ("a", "b")]
    result = bound(items, prioritize_recent=recent)
    (call,) = [call for calls in result.items for call in calls]
    assert call.name == survivor + "\x00" * 4095
    assert call.truncation == Truncation(1, 0, 3, 6001)
    assert (result.truncated_calls, result.omitted_calls) == (1, 3)


def test_a_cut_name_keeps_its_original_size_in_every_later_marker() -> None:
    cut = ExecutedCall.marker("n" * 4096, Truncation(1, 0, 0, 20_000))
    items = [_item(*[cut] * 9, has_turn_id=True)]
    for recent in (True, False):
        kept = bound(items, prioritize_recent=recent).items[0]
        assert {call.original_name_bytes for call in kept} == {20_000}


def test_the_fallback_fits_with_the_largest_numbers() -> None:
    call = ExecutedCall.marker("\x00" * 9000, Truncation(MAX_UINT64, MAX_UINT64, 1 << 40, None))
    bounded = _bound([_item(call)], recent=True)
    assert _total_bytes(bounded) <= MAX_EXECUTED_CALL_BYTES
    assert bounded[0].calls[0].truncation == Truncation(MAX_UINT64, 0, 1 << 40, 9000)
