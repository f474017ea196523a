"""The outline of a prompt: told whole or as a change, it is the same, and finds the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sidecall_server.domain.errors import FailedPrecondition, InvalidArgument, Reason
from sidecall_server.domain.limits import MAX_LIST_ITEMS
from sidecall_server.domain.outline import Outline
from sidecall_server.domain.prompt_description import Prompt, PromptBase, PromptOutput
from sidecall_server.domain.values import PayloadKind

OUTPUTS = st.lists(
    st.builds(
        PromptOutput,
        st.sampled_from(PayloadKind),
        st.sampled_from(["a", "b", None]),
        st.sampled_from(["t", "", None]),
        st.sampled_from(["i", None]),
    ),
    max_size=12,
)


def positions(outputs: list[PromptOutput], call_ids: set[str]) -> list[int]:
    return [index for index in reversed(range(len(outputs))) if outputs[index].call_id in call_ids]


@given(st.lists(st.tuples(OUTPUTS, st.integers(0, 12), st.booleans()), min_size=1, max_size=6))
def test_a_change_gives_what_the_whole_gives(
    prompts: list[tuple[list[PromptOutput], int, bool]],
) -> None:
    outline, held = Outline(), list[PromptOutput]()
    for more, kept, as_change in prompts:
        kept = min(kept, len(held))
        held = held[:kept] + more
        if as_change and outline.prompt:
            outline.take(Prompt(more, PromptBase(outline.prompt, kept)))
        else:
            outline.take(Prompt(held))
        assert [outline[index] for index in range(len(outline))] == held
        for call_ids in ({"a"}, {"b"}, {"a", "b", "c"}):
            assert outline.positions_of(call_ids) == positions(held, call_ids)
        fresh = Outline()
        fresh.take(Prompt(held))
        assert outline.held_bytes == fresh.held_bytes


@pytest.mark.parametrize("prompt", [0, 1, 3])
def test_only_the_last_prompt_is_a_base(prompt: int) -> None:
    outline = Outline()
    if prompt:
        outline.take(Prompt([PromptOutput(PayloadKind.FUNCTION, "a")]))
        outline.take(Prompt([PromptOutput(PayloadKind.FUNCTION, "b")]))
    with pytest.raises(FailedPrecondition) as refused:
        outline.take(Prompt([], PromptBase(prompt, 0)))
    assert refused.value.reason is Reason.PROMPT_BASE_MISMATCH
    assert len(outline) == bool(prompt)


def test_no_more_is_kept_than_there_is() -> None:
    outline = Outline()
    outline.take(Prompt([PromptOutput(PayloadKind.FUNCTION, "a")]))
    with pytest.raises(InvalidArgument):
        outline.take(Prompt([], PromptBase(1, 2)))


def test_a_prompt_that_is_told_again_is_the_same() -> None:
    outline, output = Outline(), PromptOutput(PayloadKind.FUNCTION, "a")
    outline.take(Prompt([output]))
    outline.take(Prompt([output]))
    outline.take(Prompt([], PromptBase(1, 1)))
    assert (len(outline), outline.prompt) == (1, 1)
    outline.take(Prompt([output], PromptBase(1, 1)))
    assert (len(outline), outline.prompt) == (2, 2)


def test_a_prompt_cannot_grow_without_bound() -> None:
    outline, output = Outline(), PromptOutput(PayloadKind.FUNCTION, "a")
    outline.take(Prompt([output] * MAX_LIST_ITEMS))
    with pytest.raises(InvalidArgument):
        outline.take(Prompt([output], PromptBase(1, MAX_LIST_ITEMS)))
    outline.take(Prompt([output], PromptBase(1, MAX_LIST_ITEMS - 1)))


def test_what_left_the_prompt_is_forgotten() -> None:
    outline = Outline()
    outline.take(Prompt([PromptOutput(PayloadKind.FUNCTION, f"{number}") for number in range(100)]))
    assert outline.positions_of(["7"]) == [7]
    outline.take(Prompt([]))
    assert outline.positions_of(["7"]) == []
    assert (outline.held_bytes, len(outline._positions)) == (0, 0)
