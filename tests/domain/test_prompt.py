"""SPEC G11, G12: every call has an output, every output a call."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from sidecall_server.domain.prompt import OutlineEntry, OutlineKind, normalise_prompt
from sidecall_server.domain.response_item import (
    CustomToolCallOutput,
    FunctionCallOutput,
    ToolSearchCallOutput,
)
from sidecall_server.domain.values import PayloadKind

FUNCTION, CUSTOM, SEARCH = PayloadKind.FUNCTION, PayloadKind.CUSTOM, PayloadKind.TOOL_SEARCH


def call(kind: PayloadKind, call_id: str, *, server: bool = False) -> OutlineEntry:
    return OutlineEntry(OutlineKind.CALL, kind, call_id, server)


def output(kind: PayloadKind, call_id: str, *, server: bool = False) -> OutlineEntry:
    return OutlineEntry(OutlineKind.OUTPUT, kind, call_id, server)


def test_a_call_without_an_output_is_answered_as_aborted() -> None:
    prompt = normalise_prompt([call(FUNCTION, "a"), call(CUSTOM, "b"), call(SEARCH, "c")])
    assert [(missing.call_index, missing.response_item) for missing in prompt.missing] == [
        (0, FunctionCallOutput("a", "aborted", None)),
        (1, CustomToolCallOutput("b", "aborted", None)),
        (2, ToolSearchCallOutput("c")),
    ]
    assert [missing.call_id for missing in prompt.missing] == ["a", "b", "c"]


def test_a_whole_prompt_is_left_alone() -> None:
    prompt = normalise_prompt(
        [call(FUNCTION, "a"), call(CUSTOM, "b"), output(CUSTOM, "b"), output(FUNCTION, "a")]
    )
    assert (prompt.missing, prompt.orphan_indexes) == ((), ())


def test_an_output_answers_only_a_call_of_its_own_kind() -> None:
    prompt = normalise_prompt([call(FUNCTION, "a"), output(CUSTOM, "a")])
    assert [missing.call_index for missing in prompt.missing] == [0]
    assert prompt.orphan_indexes == (1,)


def test_an_output_without_a_call_is_an_orphan() -> None:
    assert normalise_prompt([output(SEARCH, "x"), output(FUNCTION, "")]).orphan_indexes == (0, 1)


def test_what_the_server_searched_is_nobody_s_business() -> None:
    prompt = normalise_prompt([call(SEARCH, "s", server=True), output(SEARCH, "o", server=True)])
    assert (prompt.missing, prompt.orphan_indexes) == ((), ())


def test_a_search_without_an_id_is_not_answered() -> None:
    assert normalise_prompt([call(SEARCH, "")]).missing == ()


def test_a_search_with_unreadable_arguments_gets_an_empty_list() -> None:
    # its error was a function output with an empty id (G12)
    prompt = normalise_prompt([call(SEARCH, "s"), output(FUNCTION, "")])
    assert [missing.response_item for missing in prompt.missing] == [ToolSearchCallOutput("s")]
    assert prompt.orphan_indexes == (1,)


ENTRIES = st.lists(
    st.builds(
        OutlineEntry,
        st.sampled_from(OutlineKind),
        st.sampled_from(PayloadKind),
        st.sampled_from(["", "a", "b", "c"]),
        st.booleans(),
    ),
    max_size=12,
)


@given(ENTRIES)
def test_a_normalised_prompt_is_whole(outline: list[OutlineEntry]) -> None:
    found = normalise_prompt(outline)
    inserted = {missing.call_index: missing for missing in found.missing}
    whole: list[OutlineEntry] = []
    for index, entry in enumerate(outline):
        if index not in found.orphan_indexes:
            whole.append(entry)
        if index in inserted:
            whole.append(output(entry.payload_kind, inserted[index].call_id))
    again = normalise_prompt(whole)
    assert (again.missing, again.orphan_indexes) == ((), ())
