"""Tables: nothing leaves the columns or reaches the terminal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from sidecall_server.app.tables import MAX_COLUMNS, details, printable, table

HEAD = ("A", "LONGER", "C")
TEXTS = st.text(max_size=200)


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS)))
def test_no_row_is_wider_than_the_terminal_or_more_than_a_line(
    rows: list[tuple[str, str, str]],
) -> None:
    lines = table(HEAD, rows).split("\n")

    assert len(lines) == len(rows) + 1
    assert max(len(line) for line in lines) <= MAX_COLUMNS


@given(st.lists(st.tuples(st.sampled_from(HEAD), TEXTS.filter(bool))))
def test_no_detail_is_wider_than_the_terminal_or_more_than_a_line(
    pairs: list[tuple[str, str]],
) -> None:
    lines = [line for line in details(pairs).split("\n") if line]

    assert len(lines) == len(pairs)
    assert all(len(line) <= MAX_COLUMNS for line in lines)


@given(TEXTS)
def test_what_is_shown_is_printable_and_printable_text_stays(text: str) -> None:
    shown = printable(text)

    assert shown.isprintable()
    assert (shown == text) == text.isprintable()


def test_cells_are_cut_only_where_they_do_not_fit() -> None:
    assert table(HEAD, [("x", "y" * 100, "z")]).split("\n")[1] == "x  " + "y" * 73 + "…  z"
