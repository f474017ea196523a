"""Every number with a meaning, named, with its unit in the name.

The numbers of the first block belong to the behaviour and cannot be set (SPEC); the
settings of a server live in ``app/settings.py`` and start from the second block.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

# --- behaviour -----------------------------------------------------------------------

MAX_JSON_DEPTH: Final = 127
"""Deepest nesting of arrays and objects that is still JSON (N4)."""

MAX_CALL_ARGUMENT_BYTES: Final = 8192
"""Arguments of one recorded call above this become a marker (J4, M1)."""

MAX_EXECUTED_CALL_BYTES: Final = 32_768
"""Metadata bytes of all attached records of a prompt, and of one cell (J9, L7, M2)."""

MAX_DIRECT_CALLS: Final = 256
"""Pending direct records of a session, before one more is only a marker (J8)."""

MAX_NESTED_CALLS: Final = 256
"""Pending nested records of a session, before one more is only a marker (J9)."""

MAX_CELLS: Final = 256
"""Code-mode cells that hold pending records (J9, K1)."""

MAX_CELL_OUTPUTS: Final = 256
"""Outputs that point to a cell (K1)."""

MAX_RETRY_CACHES: Final = 8
"""Sampling requests of a session whose retries share a cache (L9)."""

MAX_FALLBACK_NAME_BYTES: Final = 4096
"""Bytes of a tool name that the last surviving marker keeps (M7)."""

MARKER_RESERVE_BYTES: Final = 192
"""Size of a marker with four 2^64-1 numbers, set aside for conservation (M3)."""

DEFAULT_EXEC_OUTPUT_TOKENS: Final = 10_000
"""Budget of an exec or cell output that names none (C2, E8)."""

BYTES_PER_TOKEN: Final = 4
"""The token estimate used by every budget (E1)."""

TELEMETRY_PREVIEW_BYTES: Final = 2048
"""Longest log preview, before its closing line (E11)."""

TELEMETRY_PREVIEW_LINES: Final = 64
"""Most lines of a log preview (E11)."""

COLLECTION_BUFFER_BYTES: Final = 1_048_576
"""Bytes of process output an agent keeps, half head and half tail (C7)."""

MIN_ABORT_SECONDS: Final = 0.1
"""Smallest elapsed time an abort text shows (G4)."""

# --- values --------------------------------------------------------------------------


class TextLimits(Struct):
    """How long names may be: the operator's choice, made once, before anything is served."""

    max_id_bytes: int = 512
    """Session, turn, call, item, cell and sampling request ids, bytes of UTF-8."""
    max_tool_name_bytes: int = 8192
    """A tool name, and its namespace; a model may invent long ones."""


TEXT_LIMITS: Final = TextLimits()
"""Those of this process: values check themselves, and have nobody else to ask."""

MAX_LIST_ITEMS: Final = 32_768
"""Items of a list in one request: while they are read, all other agents wait."""

MAX_CALLS_OF_CANCEL: Final = 4096
"""Calls that one cancel names; a turn's, or all, can be named as such."""

MAX_EVENT_TEXT_CHARACTERS: Final = 1024
"""How much of an outcome's text a session's watchers are told."""

# --- defaults that a tool's declaration may change -----------------------------------

DEFAULT_TEARDOWN_SECONDS: Final = 10.0
"""How long a teardown may take where the tool does not say."""

# --- content and durations -------------------------------------------------------------

MAX_UINT64: Final = (1 << 64) - 1
"""Largest count, budget or size that the contract can carry."""

AUDIO_TOKENS_PER_SECOND: Final = 10
"""The token estimate of sound whose duration is known (E7)."""

NANOSECONDS_PER_SECOND: Final = 1_000_000_000
"""Wall times come in nanoseconds and are shown in seconds."""

# --- executed-call records on the wire -------------------------------------------------

EXECUTED_CALLS_KEY_BYTES: Final = 22
"""The key `executed_tool_calls` with its quotes and colon (M0)."""

SHARED_METADATA_BYTES: Final = 1
"""The comma after a turn id, where the metadata exists already (M0)."""

NEW_METADATA_BYTES: Final = 48
"""The metadata's own key, its comma and its braces, where it holds nothing else (M0)."""
