"""How texts are measured and cut (SPEC E1-E4, E9, E11, N5-N7).

Budgets are bytes of UTF-8 or tokens, estimated as four bytes each. The middle of a text
goes, its two ends stay, and no character is ever cut in half. Nothing here walks over
characters: ends are sliced as bytes, so that a long text costs one encoding at most and an
ASCII text nothing.
"""

from __future__ import annotations

from typing import Final, TypeAlias

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


def count_lines(text: str) -> int:
    r"""Lines as ``\n`` ends them; what follows the last one counts if not empty (N5)."""
    return text.count("\n") + (text != "" and not text.endswith("\n"))


def truncate(text: str, policy: TruncationPolicy) -> str:
    """The text, or its two ends around a marker, which comes on top of the budget (E1-E3)."""
    size = utf8_size(text)
    return text if size <= policy.byte_budget else _cut_middle(text, size, policy)


def truncate_formatted(text: str, policy: TruncationPolicy) -> str:
    """The text, or a warning with its original size and what `truncate` keeps of it (E4)."""
    size = utf8_size(text)
    if size <= policy.byte_budget:
        return text
    return (
        f"{truncation_warning(tokens_of(size))}Total output lines: {count_lines(text)}\n\n"
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


def _cut_middle(text: str, size_bytes: int, policy: TruncationPolicy) -> str:
    budget = policy.byte_budget
    start = _keep_start(text, budget // 2)
    end = _keep_end(text, budget - budget // 2)
    removed_characters = len(text) - len(start) - len(end)
    return start + policy.marker(removed_characters, size_bytes - budget) + end


def _keep_start(text: str, limit_bytes: int) -> str:
    """The whole characters that end within the first bytes."""
    head = text[:limit_bytes]
    # "ignore" drops the one character that the slice has cut
    return head if head.isascii() else head.encode()[:limit_bytes].decode(errors="ignore")


def _keep_end(text: str, limit_bytes: int) -> str:
    """The whole characters that start within the last bytes."""
    tail = text[max(len(text) - limit_bytes, 0) :]
    if tail.isascii():
        return tail
    data = tail.encode()
    return data[len(data) - limit_bytes :].decode(errors="ignore")
