"""SPEC E1-E4, E9, E11, N5-N7: measuring texts and cutting them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sidecall_server.domain import truncation
from sidecall_server.domain.errors import InvalidValue
from sidecall_server.domain.truncation import (
    PREVIEW_CUT_NOTICE,
    BytesPolicy,
    TokensPolicy,
    TruncationPolicy,
    count_lines,
    decode_lossy,
    is_blank,
    telemetry_preview,
    tokens_of,
    truncate,
    truncate_formatted,
)

POLICIES = st.builds(BytesPolicy, st.integers(0, 80)) | st.builds(TokensPolicy, st.integers(0, 20))
TEXTS = st.text(st.sampled_from("ab é漢🙂\n\r\u0301\ufffd"), max_size=120)


@pytest.mark.parametrize(
    ("text", "policy", "expected"),
    [
        ("example output", BytesPolicy(1), "…13 chars truncated…t"),
        ("example output", TokensPolicy(1), "ex…3 tokens truncated…ut"),
        ("ééé", BytesPolicy(5), "é…1 chars truncated…é"),
        ("😀😀", BytesPolicy(4), "…2 chars truncated…"),
        ("", BytesPolicy(0), ""),
        ("", TokensPolicy(0), ""),
        ("abc", BytesPolicy(3), "abc"),
        ("abcd", TokensPolicy(1), "abcd"),
        ("ab🙂", BytesPolicy(0), "…3 chars truncated…"),
        ("ab🙂", TokensPolicy(0), "…2 tokens truncated…"),
    ],
)
def test_the_middle_of_a_long_text_is_cut(
    text: str, policy: TruncationPolicy, expected: str
) -> None:
    assert truncate(text, policy) == expected


def test_a_token_marker_counts_the_excess_and_not_what_was_removed() -> None:
    # 30 bytes, budget 4: 26 bytes in excess are 7 tokens, though 28 bytes had to go
    assert truncate("é" * 15, TokensPolicy(1)) == "é…7 tokens truncated…é"
    assert truncate("🙂" * 7, TokensPolicy(1)) == "…6 tokens truncated…"


@given(TEXTS, POLICIES)
def test_a_text_within_its_budget_is_unchanged(text: str, policy: TruncationPolicy) -> None:
    fits = len(text.encode()) <= policy.byte_budget
    assert (truncate(text, policy) == text) is fits
    assert (truncate_formatted(text, policy) == text) is fits


@given(TEXTS, POLICIES)
def test_what_stays_is_the_longest_start_and_end_of_whole_characters(
    text: str, policy: TruncationPolicy
) -> None:
    size, budget = len(text.encode()), policy.byte_budget
    cut = truncate(text, policy)
    if size <= budget:
        return
    left, right = budget // 2, budget - budget // 2
    starts = [text[:n] for n in range(len(text) + 1) if len(text[:n].encode()) <= left]
    ends = [text[n:] for n in range(len(text) + 1) if len(text[n:].encode()) <= right]
    start, end = starts[-1], ends[0]
    removed = len(text) - len(start) - len(end)
    what = (
        f"{removed} chars"
        if isinstance(policy, BytesPolicy)
        else f"{-(-(size - budget) // 4)} tokens"
    )
    assert cut == f"{start}…{what} truncated…{end}"
    assert cut.encode().decode() == cut


def test_a_formatted_cut_says_how_much_there_was() -> None:
    assert truncate_formatted("a\r\nbé\n\n", BytesPolicy(2)) == (
        "Warning: truncated output (original token count: 2)\n"
        "Total output lines: 3\n\na…5 chars truncated…\n"
    )


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", 0),
        ("\n", 1),
        ("a", 1),
        ("a\n", 1),
        ("a\nb", 2),
        ("a\n\n", 2),
        ("\r", 1),
        ("a\r\n\r", 2),
        ("a\x0bb\x0cc\x1cd\x85e\u2028f", 1),
    ],
)
def test_only_a_line_feed_ends_a_line(text: str, lines: int) -> None:
    assert count_lines(text) == lines


@pytest.mark.parametrize(
    "text",
    ["", " ", "\t\n\v\f\r", "\x85\xa0", "\u1680\u2000\u200a", "\u2028\u2029\u202f\u205f\u3000"],
)
def test_white_space_is_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", ["\x1c", "\x1d", "\x1e", "\x1f", "\u200b", "\ufeff", " a ", "\0"])
def test_separators_and_invisible_characters_are_not_blank(text: str) -> None:
    assert not is_blank(text)


FRAGMENTS = [
    *(b"a", b"b\n", "é".encode(), "漢".encode(), "🙂".encode(), "\ufffd".encode()),
    *(b"\x80", b"\xbf\xbf", b"\xff"),  # never the first byte of a character
    *(b"\xc3", b"\xe6\xbc", b"\xf0\x9f\x99", b"\xf0\x9f"),  # a character's beginning
    *(b"\xc0\x80", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"),  # not in UTF-8
]


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=60).map(b"".join), POLICIES)
def test_bytes_are_cut_as_the_text_that_they_are(data: bytes, policy: TruncationPolicy) -> None:
    """Wherever the pieces end in which they are looked through."""
    text = decode_lossy(data)
    for piece_bytes in (4, 5, 6, 7, 1 << 16):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(truncation, "_PIECE_BYTES", piece_bytes)
            assert count_lines(data) == count_lines(text)
            assert truncate(data, policy) == truncate(text, policy)
            assert truncate_formatted(data, policy) == truncate_formatted(text, policy)


@pytest.mark.parametrize(("size", "tokens"), [(0, 0), (1, 1), (4, 1), (5, 2), (10_000, 2500)])
def test_a_token_is_four_bytes_rounded_up(size: int, tokens: int) -> None:
    assert tokens_of(size) == tokens
    assert BytesPolicy(size).token_budget == tokens


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"\xf0\x9f\x99a", "\ufffda"),
        (b"\xe2\x82", "\ufffd"),
        (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd"),
        (b"\xc0\x80", "\ufffd\ufffd"),
    ],
)
def test_each_maximal_invalid_sequence_becomes_one_replacement(data: bytes, text: str) -> None:
    assert decode_lossy(data) == text


@pytest.mark.parametrize(
    ("amount", "widened"),
    [(0, 0), (1, 2), (4, 5), (5, 6), (128, 154), (10_000, 12_000), ((1 << 64) - 1, (1 << 64) - 1)],
)
def test_a_widened_budget_is_a_fifth_larger_rounded_up(amount: int, widened: int) -> None:
    assert BytesPolicy(amount).widened == BytesPolicy(widened)
    assert TokensPolicy(amount).widened == TokensPolicy(widened)


@given(st.integers(0, 200_000))
def test_widening_agrees_with_the_float_product(amount: int) -> None:
    product = amount * 1.2
    assert TokensPolicy(amount).widened.tokens == int(product) + (int(product) < product)


@pytest.mark.parametrize("amount", [-1, 1 << 64])
@pytest.mark.parametrize("policy", [BytesPolicy, TokensPolicy])
def test_a_budget_is_an_unsigned_64_bit_number(
    policy: type[BytesPolicy] | type[TokensPolicy], amount: int
) -> None:
    with pytest.raises(InvalidValue, match="must be from 0 to 18446744073709551615"):
        policy(amount)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("a\r\nb\r\n", "a\r\nb\r\n"),
        ("x" * 2048, "x" * 2048),
        ("x" * 2049, "x" * 2048 + "\n"),
        ("é" * 1025, "é" * 1024 + "\n"),
        ("x" + "é" * 1024, "x" + "é" * 1023 + "\n"),
        ("x" * 2047 + "\n", "x" * 2047 + "\n"),
        ("x" * 2047 + "\n" + "y", "x" * 2047 + "\n"),
        ("a\n" * 64, "a\n" * 64),
        ("a\n" * 64 + "b", "a\n" * 64),
        ("a\n" * 65, "a\n" * 64),
        ("a\r\n" * 65, "a\n" * 64),
        ("a\n" * 63 + "\n" + "b", "a\n" * 63 + "\n"),
        ("\n" * 65, "\n" * 64),
        ("a\n" * 63 + "partial" + "x" * 4000, "a\n" * 63 + "partial" + "x" * 1915 + "\n"),
    ],
)
def test_a_preview_keeps_2048_bytes_and_64_lines(text: str, expected: str) -> None:
    cut = expected != text
    assert telemetry_preview(text) == expected + (PREVIEW_CUT_NOTICE if cut else "")


def test_a_preview_of_carriage_returns_looks_at_the_shifted_offset() -> None:
    # one removed "\r" moves the end of the kept text onto the line feed before the last line
    text = "\r\n" + "a\n" * 62 + "\n" + "b\n"
    assert telemetry_preview(text) == "\n" + "a\n" * 62 + "\n" + PREVIEW_CUT_NOTICE


def _lines(text: str) -> list[str]:
    parts = text.split("\n")
    ended = [part.removesuffix("\r") for part in parts[:-1]]
    return [*ended, parts[-1]] if parts[-1] else ended


def _preview_model(text: str) -> str:
    head = text[:2048]
    while len(head.encode()) > 2048:
        head = head[:-1]
    lines = _lines(head)
    if head == text and len(lines) <= 64:
        return text
    kept = "\n".join(lines[:64])
    size = len(kept.encode())
    if head.encode()[size : size + 1] == b"\n":
        kept += "\n"
    if kept and not kept.endswith("\n"):
        kept += "\n"
    return kept + "[... telemetry preview truncated ...]"


PREVIEWED = st.builds(
    "".join,
    st.lists(
        st.sampled_from(["\n", "\r\n", "\r", "a", "é", "漢", "🙂", "x" * 40, "\n" * 40, "é" * 500])
    ),
)


@given(PREVIEWED)
def test_a_preview_follows_its_rule_step_by_step(text: str) -> None:
    assert telemetry_preview(text) == _preview_model(text)


@given(PREVIEWED)
def test_a_preview_is_bounded(text: str) -> None:
    preview = telemetry_preview(text)
    assert len(preview.encode()) <= 2048 + 2 + len(PREVIEW_CUT_NOTICE)
    assert count_lines(preview) <= 64 + 2
