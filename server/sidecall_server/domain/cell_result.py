"""What `exec` and `wait` show of a code-mode cell (SPEC I2, E8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct

from sidecall_server.domain.content import ContentItem, InputText, truncate_items
from sidecall_server.domain.durations import cell_seconds
from sidecall_server.domain.limits import DEFAULT_EXEC_OUTPUT_TOKENS
from sidecall_server.domain.outputs import FunctionOutput
from sidecall_server.domain.truncation import TokensPolicy, truncate_formatted


class CellRunning(Struct, frozen=True):
    """The cell still runs."""

    cell_id: str


class CellTerminated(Struct, frozen=True):
    """The cell was terminated."""


class CellCompleted(Struct, frozen=True):
    """The script ended well."""


class CellFailed(Struct, frozen=True):
    """The script ended with an error."""

    error: str


CellStatus: TypeAlias = CellRunning | CellTerminated | CellCompleted | CellFailed


def project_cell_result(
    content: Sequence[ContentItem],
    status: CellStatus,
    wall_time_nanoseconds: int,
    max_output_tokens: int | None = None,
) -> FunctionOutput:
    """The output of `exec` or `wait`: a header, then what the script put out, truncated.

    The header is not part of the budget, a script's error is. Only a failed script is no
    success (I2).
    """
    seconds = cell_seconds(wall_time_nanoseconds)
    header = f"{_status_line(status)}\nWall time {seconds} seconds\nOutput:\n"
    failed = isinstance(status, CellFailed)
    if isinstance(status, CellFailed):
        content = (*content, InputText(f"Script error:\n{status.error}"))
    budget = DEFAULT_EXEC_OUTPUT_TOKENS if max_output_tokens is None else max_output_tokens
    kept = truncate_cell_content(content, TokensPolicy(budget))
    return FunctionOutput((InputText(header), *kept), success=not failed)


def truncate_cell_content(
    content: Sequence[ContentItem], policy: TokensPolicy
) -> tuple[ContentItem, ...]:
    """Texts alone are cut as one text, anything else item by item (E8)."""
    texts = [item.text for item in content if isinstance(item, InputText)]
    if len(texts) != len(content):
        return truncate_items(content, policy)
    first = next((index for index, text in enumerate(texts) if text), len(texts))
    joined = "\n".join(texts[first:])
    cut = truncate_formatted(joined, policy)
    return tuple(content) if cut == joined else (InputText(cut),)


def _status_line(status: CellStatus) -> str:
    match status:
        case CellRunning(cell_id):
            return f"Script running with cell ID {cell_id}"
        case CellTerminated():
            return "Script terminated"
        case CellCompleted():
            return "Script completed"
        case CellFailed():
            return "Script failed"
