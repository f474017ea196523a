"""How texts are measured and cut (SPEC E1-E4, E9, E11, N5-N7).

Budgets are bytes of UTF-8 or tokens, estimated as four bytes each. The middle of a text
goes, its two ends stay, and no character is ever cut in half. Nothing here walks over
characters: ends are sliced as bytes, so that a long text costs one encoding at most and an
ASCII text nothing. A text that is given as bytes is looked through in pieces that stay in the
processor's cache, and only what is kept of it becomes a string.
"""

from __future__ import annotations

from codecs import utf_8_decode
from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct

from sidecall_server.domain.limits import (
    BYTES_PER_TOKEN,
    MAX_UINT64,
    TELEMETRY_PREVIEW_BYTES,
    TELEMETRY_PREVIEW_LINES,
)
from sidecall_server.domain.values import count_faults, refuse, utf8_size

WHITE_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""Unicode's White_Space. `str.isspace` and `str.strip` also take U+001C to U+001F (N6)."""

PREVIEW_CUT_NOTICE: Final = "[... telemetry preview truncated ...]"
"""The closing line of a log preview that was cut (E11)."""

_PIECE_BYTES: Final = 1 << 16
_BYTES_BEHIND_FIRST: Final = 3
"""Of a character of UTF-8, at most."""


class BytesPolicy(Struct, frozen=True):
    """Keep so many bytes of UTF-8."""

    bytes: int

    def __post_init__(self) -> None:
        refuse(count_faults("bytes", self.bytes))

    @property
    def amount(self) -> int:
        """The budget in the policy's own unit."""
        return self.bytes

    @property
    def byte_budget(self) -> int:
        return self.bytes

    @property
    def token_budget(self) -> int:
        return tokens_of(self.bytes)

    @property
    def widened(self) -> BytesPolicy:
        """The policy of serialised outputs: a fifth more (E9)."""
        return BytesPolicy(_widened(self.bytes))

    def of(self, amount: int) -> BytesPolicy:
        """The same unit, another budget."""
        return BytesPolicy(amount)

    def cost(self, text: str) -> int:
        """What a text takes of the budget (E6)."""
        return utf8_size(text)

    def cost_of_tokens(self, tokens: int) -> int:
        """What something that is only known in tokens takes of the budget (E6)."""
        return tokens * BYTES_PER_TOKEN

    def marker(self, removed_characters: int, excess_bytes: int) -> str:
        """What stands where text was removed (E3)."""
        return f"…{removed_characters} chars truncated…"


class TokensPolicy(Struct, frozen=True):
    """Keep so many tokens."""

    tokens: int

    def __post_init__(self) -> None:
        refuse(count_faults("tokens", self.tokens))

    @property
    def amount(self) -> int:
        """The budget in the policy's own unit."""
        return self.tokens

    @property
    def byte_budget(self) -> int:
        return self.tokens * BYTES_PER_TOKEN

    @property
    def token_budget(self) -> int:
        return self.tokens

    @property
    def widened(self) -> TokensPolicy:
        """The policy of serialised outputs: a fifth more (E9)."""
        return TokensPolicy(_widened(self.tokens))

    def of(self, amount: int) -> TokensPolicy:
        """The same unit, another budget."""
        return TokensPolicy(amount)

    def cost(self, text: str) -> int:
        """What a text takes of the budget (E6)."""
        return tokens_of(utf8_size(text))

    def cost_of_tokens(self, tokens: int) -> int:
        """What something that is only known in tokens takes of the budget (E6)."""
        return tokens

    def marker(self, removed_characters: int, excess_bytes: int) -> str:
        """What stands where text was removed: an estimate from the budget alone (E3)."""
        return f"…{tokens_of(excess_bytes)} tokens truncated…"


TruncationPolicy: TypeAlias = BytesPolicy | TokensPolicy


def tokens_of(size_bytes: int) -> int:
    """The token estimate of so many bytes, rounded up."""
    return -(-size_bytes // BYTES_PER_TOKEN)


def decode_lossy(data: bytes) -> str:
    """Bytes as text; each maximal invalid subsequence becomes U+FFFD (C3)."""
    return data.decode(errors="replace")


def is_blank(text: str) -> bool:
    """Whether the text is empty or only Unicode white space (N6)."""
    return not text.strip(WHITE_SPACE)


def count_lines(text: str | bytes) -> int:
    r"""Lines as ``\n`` ends them; what follows the last one counts if not empty (N5)."""
    if isinstance(text, str):
        return text.count("\n") + (text != "" and not text.endswith("\n"))
    return text.count(b"\n") + (text != b"" and not text.endswith(b"\n"))


def truncate(text: str | bytes, policy: TruncationPolicy) -> str:
    """The text, or its two ends around a marker, which comes on top of the budget (E1-E3).

    Bytes are a text that is decoded lossily.
    """
    size = _measure(text)
    return _cut_middle(text, size, policy) if size.bytes > policy.byte_budget else _whole(text)


def truncate_formatted(text: str | bytes, policy: TruncationPolicy) -> str:
    """The text, or a warning with its original size and what `truncate` keeps of it (E4)."""
    size = _measure(text)
    if size.bytes <= policy.byte_budget:
        return _whole(text)
    return (
        f"{truncation_warning(tokens_of(size.bytes))}Total output lines: {count_lines(text)}\n\n"
        f"{_cut_middle(text, size, policy)}"
    )


def truncation_warning(original_tokens: int) -> str:
    """The line that stands first in an output that was cut (E4, C3)."""
    return f"Warning: truncated output (original token count: {original_tokens})\n"


def telemetry_preview(text: str) -> str:
    """What a log may show of a text: at most 2048 bytes and 64 lines of it, and a notice.

    A text within both limits is returned as it is, line ends included (E11).
    """
    head = _keep_start(text, TELEMETRY_PREVIEW_BYTES).encode()
    cut_by_bytes = utf8_size(text[: TELEMETRY_PREVIEW_BYTES + 1]) > len(head)
    *lines, rest = head.split(b"\n", TELEMETRY_PREVIEW_LINES)
    cut_by_lines = len(lines) == TELEMETRY_PREVIEW_LINES and rest != b""
    if not cut_by_bytes and not cut_by_lines:
        return text
    lines = [line.removesuffix(b"\r") for line in lines]
    if rest and not cut_by_lines:
        lines.append(rest)
    kept = b"\n".join(lines)
    # a removed "\r" shifts the offsets; the reference runtime looks at the same offset all the same
    if head[len(kept) : len(kept) + 1] == b"\n":
        kept += b"\n"
    if kept and not kept.endswith(b"\n"):
        kept += b"\n"
    return kept.decode() + PREVIEW_CUT_NOTICE


def _widened(amount: int) -> int:
    return min(-(-amount * 6 // 5), MAX_UINT64)


class _Size(NamedTuple):
    bytes: int
    characters: int


def _whole(text: str | bytes) -> str:
    return text if isinstance(text, str) else decode_lossy(text)


def _measure(text: str | bytes) -> _Size:
    if isinstance(text, str):
        return _Size(utf8_size(text), len(text))
    if text.isascii():
        return _Size(len(text), len(text))
    size_bytes = characters = position = 0
    while position < len(text):
        piece = text[position : position + _PIECE_BYTES]
        last = position + len(piece) == len(text)
        try:
            decoded, taken = utf_8_decode(piece, "strict", last)
            size_bytes += taken
        except UnicodeDecodeError:
            decoded, taken = utf_8_decode(piece, "replace", last)
            size_bytes += utf8_size(decoded)
        characters += len(decoded)
        position += taken
    return _Size(size_bytes, characters)


def _pieces(data: bytes) -> Iterator[bytes]:
    return (data[start : start + _PIECE_BYTES] for start in range(0, len(data), _PIECE_BYTES))


def _cut_middle(text: str | bytes, size: _Size, policy: TruncationPolicy) -> str:
    budget = policy.byte_budget
    start = _keep_start(text, budget // 2)
    end = _keep_end(text, budget - budget // 2)
    removed_characters = size.characters - len(start) - len(end)
    return start + policy.marker(removed_characters, size.bytes - budget) + end


def _keep_start(text: str | bytes, limit_bytes: int) -> str:
    """The whole characters that end within the first bytes."""
    if isinstance(text, bytes):  # decoded, no character takes less than it did
        text = decode_lossy(text[: limit_bytes + _BYTES_BEHIND_FIRST])
    head = text[:limit_bytes]
    # "ignore" drops the one character that the slice has cut
    return head if head.isascii() else head.encode()[:limit_bytes].decode(errors="ignore")


def _keep_end(text: str | bytes, limit_bytes: int) -> str:
    """The whole characters that start within the last bytes."""
    if isinstance(text, bytes):
        text = decode_lossy(text[max(len(text) - limit_bytes - _BYTES_BEHIND_FIRST, 0) :])
    tail = text[max(len(text) - limit_bytes, 0) :]
    if tail.isascii():
        return tail
    data = tail.encode()
    return data[max(len(data) - limit_bytes, 0) :].decode(errors="ignore")
