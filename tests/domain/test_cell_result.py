"""SPEC E8, I2: what a cell's output shows."""

from __future__ import annotations

import pytest
from sidecall_server.domain.cell_result import (
    CellCompleted,
    CellFailed,
    CellRunning,
    CellStatus,
    CellTerminated,
    project_cell_result,
    truncate_cell_content,
)
from sidecall_server.domain.content import ContentItem, EncryptedContent, InputImage, InputText
from sidecall_server.domain.truncation import TokensPolicy

IMAGE = InputImage("i")


def texts(*parts: str) -> tuple[ContentItem, ...]:
    return tuple(map(InputText, parts))


@pytest.mark.parametrize(
    ("status", "line", "success"),
    [
        (CellRunning("7"), "Script running with cell ID 7", True),
        (CellTerminated(), "Script terminated", True),
        (CellCompleted(), "Script completed", True),
    ],
)
def test_the_header_says_how_the_cell_stands(status: CellStatus, line: str, success: bool) -> None:
    output = project_cell_result(texts("x"), status, 1_250_000_000)
    assert output.content == texts(f"{line}\nWall time 1.3 seconds\nOutput:\n", "x")
    assert output.success is success


def test_a_failed_script_ends_with_its_error() -> None:
    output = project_cell_result((IMAGE,), CellFailed("boom"), 0)
    assert output.content == (
        InputText("Script failed\nWall time 0.0 seconds\nOutput:\n"),
        IMAGE,
        InputText("Script error:\nboom"),
    )
    assert output.success is False


def test_the_budget_holds_for_the_error_but_not_for_the_header() -> None:
    output = project_cell_result((), CellFailed("x" * 20), 0, max_output_tokens=2)
    assert output.content[1:] == texts(
        "Warning: truncated output (original token count: 9)\n"
        "Total output lines: 2\n\nScri…7 tokens truncated…xxxx"
    )


def test_the_default_budget_is_10_000_tokens() -> None:
    fits, exceeds = texts("x" * 40_000), texts("x" * 40_001)
    assert project_cell_result(fits, CellCompleted(), 0).content[1:] == fits
    assert project_cell_result(exceeds, CellCompleted(), 0).content[1:] != exceeds


def test_zero_tokens_asked_for_is_a_budget_of_zero() -> None:
    output = project_cell_result(texts("abcd"), CellCompleted(), 0, max_output_tokens=0)
    assert output.content[1:] == texts(
        "Warning: truncated output (original token count: 1)\n"
        "Total output lines: 1\n\n…1 tokens truncated…"
    )


@pytest.mark.parametrize(
    ("content", "tokens", "expected"),
    [
        ((), 0, ()),
        (texts("", ""), 0, texts("", "")),
        (texts("ab", "", "c"), 2, texts("ab", "", "c")),
        (
            texts("", "abcd", "", "efgh"),
            2,
            texts(
                "Warning: truncated output (original token count: 3)\n"
                "Total output lines: 3\n\nabcd…1 tokens truncated…efgh"
            ),
        ),
        (
            (*texts("abcd", "efgh"), IMAGE),
            1,
            (InputText("abcd"), IMAGE, InputText("[omitted 1 text items ...]")),
        ),
        (
            (EncryptedContent("e"), InputText("abcdefgh")),
            1,
            (EncryptedContent("e"), InputText("ab…1 tokens truncated…gh")),
        ),
    ],
)
def test_texts_alone_are_cut_as_one_and_anything_else_item_by_item(
    content: tuple[ContentItem, ...], tokens: int, expected: tuple[ContentItem, ...]
) -> None:
    assert truncate_cell_content(content, TokensPolicy(tokens)) == expected
