"""The record of one attempted call, and its bytes on the wire (SPEC J3-J7, M0, S5).

A record is written as JSON once, when it is made, and kept as those bytes: as a parsed
tree it would take several times the memory. Only this module can write a truncation
marker; raw arguments that look like one are wrapped (J6, R8).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from sidecall_server.domain.json_text import JsonError, compact, parse, quote
from sidecall_server.domain.limits import (
    EXECUTED_CALLS_KEY_BYTES,
    MAX_CALL_ARGUMENT_BYTES,
    NEW_METADATA_BYTES,
    SHARED_METADATA_BYTES,
)
from sidecall_server.domain.values import (
    CustomPayload,
    FunctionPayload,
    ToolPayload,
    utf8_size,
)

_MARKER_KEY = "_codex_executed_tool_call_truncated"
_WRAPPER_HEAD = '{"_codex_executed_tool_call_raw":'
_WRAPPER_TAIL = "}"


class Truncation(Struct, frozen=True):
    """What a marker says in place of arguments; sizes in bytes (J4, J7).

    `omitted_calls` None: stands for no other call; 0 is written out (M7).
    `original_name_bytes` None: the name is whole (S5).
    """

    original_bytes: int
    max_bytes: int
    omitted_calls: int | None = None
    original_name_bytes: int | None = None

    @property
    def json(self) -> str:
        """The marker as compact JSON, keys in the order of J7."""
        text = f'{{"original_bytes":{self.original_bytes},"max_bytes":{self.max_bytes}'
        if self.omitted_calls is not None:
            text += f',"omitted_calls":{self.omitted_calls}'
        if self.original_name_bytes is not None:
            text += f',"original_name_bytes":{self.original_name_bytes}'
        return f'{{"{_MARKER_KEY}":{text}}}}}'


class ExecutedCall(Struct, frozen=True):
    """One attempted call: a name, and either raw arguments or a `Truncation`.

    Made by `raw` or `marker`. `encoded` is the whole record as compact JSON, keys name and
    arguments; `argument_bytes` is how much of it the arguments take, wrapper included.
    """

    name: str
    encoded: bytes
    argument_bytes: int
    truncation: Truncation | None
    wrapped: bool = False

    @classmethod
    def raw(cls, name: str, arguments_json: str) -> ExecutedCall:
        """A record with arguments, given as compact JSON text."""
        wrapped = _looks_like_marker(arguments_json)
        if wrapped:
            arguments_json = _WRAPPER_HEAD + arguments_json + _WRAPPER_TAIL
        return cls._encode(name, arguments_json, None, wrapped)

    @classmethod
    def marker(cls, name: str, truncation: Truncation) -> ExecutedCall:
        """A record whose arguments were not kept."""
        return cls._encode(name, truncation.json, truncation, False)

    @classmethod
    def _encode(
        cls, name: str, arguments: str, truncation: Truncation | None, wrapped: bool
    ) -> ExecutedCall:
        encoded = f'{{"name":{quote(name)},"arguments":{arguments}}}'.encode()
        return cls(name, encoded, utf8_size(arguments), truncation, wrapped)

    @property
    def raw_json(self) -> bytes | None:
        """The arguments as JSON, without the wrapper of J6; None where a marker stands."""
        if self.truncation is not None:
            return None
        arguments = self.encoded[-1 - self.argument_bytes : -1]
        if self.wrapped:
            return arguments[len(_WRAPPER_HEAD) : -len(_WRAPPER_TAIL)]
        return arguments

    @property
    def original_bytes(self) -> int:
        """Bytes of the arguments before anything was cut."""
        return self.argument_bytes if self.truncation is None else self.truncation.original_bytes

    @property
    def omitted_calls(self) -> int | None:
        """How many further calls the record stands for; None where it does not say."""
        return None if self.truncation is None else self.truncation.omitted_calls

    @property
    def represented_calls(self) -> int:
        """The call itself and those it stands for (M1)."""
        return 1 + (self.omitted_calls or 0)

    @property
    def original_name_bytes(self) -> int | None:
        """Size of the name before it was cut; None where it is whole (S5)."""
        return None if self.truncation is None else self.truncation.original_name_bytes

    @property
    def oversize(self) -> bool:
        """Whether the arguments as written are above the limit of one call (M1).

        They can be though the raw text was not: escapes grow (J5).
        """
        return self.truncation is None and self.argument_bytes > MAX_CALL_ARGUMENT_BYTES

    def cut(self, max_bytes: int, omitted_calls: int | None = None) -> ExecutedCall:
        """The marker in place of this record; the original sizes stay (M5, M8, S5)."""
        return ExecutedCall.marker(
            self.name,
            Truncation(self.original_bytes, max_bytes, omitted_calls, self.original_name_bytes),
        )

    def cut_with_name(
        self, max_bytes: int, omitted_calls: int, max_name_bytes: int
    ) -> ExecutedCall:
        """As `cut`, the name cut too, at a character's edge (M7)."""
        name = self.name.encode()[:max_name_bytes].decode(errors="ignore")
        name_bytes = self.original_name_bytes
        if name_bytes is None and name != self.name:
            name_bytes = utf8_size(self.name)
        return ExecutedCall.marker(
            name, Truncation(self.original_bytes, max_bytes, omitted_calls, name_bytes)
        )


class RecordedArguments(Struct, frozen=True):
    """A payload's arguments: their size as it is judged (J3), and their JSON on demand."""

    original_bytes: int
    _text: str
    _written_by_model: bool

    @property
    def json(self) -> str:
        """Compact JSON; text of the model that is not JSON becomes a JSON string (J4)."""
        if not self._written_by_model:
            return self._text
        try:
            return compact(self._text)
        except JsonError:
            return quote(self._text)


def record_arguments(payload: ToolPayload) -> RecordedArguments:
    """The arguments of a call as they are recorded (J3).

    A function's size is that of the raw text; custom input and a search are judged as JSON.
    """
    if isinstance(payload, FunctionPayload):
        return RecordedArguments(utf8_size(payload.arguments), payload.arguments, True)
    if isinstance(payload, CustomPayload):
        text = quote(payload.input)
    else:
        limit = "" if payload.limit is None else f',"limit":{payload.limit}'
        text = f'{{"query":{quote(payload.query)}{limit}}}'
    return RecordedArguments(utf8_size(text), text, False)


def executed_calls_json(calls: Sequence[ExecutedCall]) -> bytes:
    """The records as one JSON array: the value of `executed_tool_calls`."""
    return b"[" + b",".join([call.encoded for call in calls]) + b"]"


def list_bytes(calls: Sequence[ExecutedCall]) -> int:
    """Bytes of `executed_calls_json`, counted without writing it."""
    brackets_and_commas = len(calls) + 1 if calls else 2
    return brackets_and_commas + sum([len(call.encoded) for call in calls])


def metadata_overhead_bytes(has_turn_id: bool) -> int:
    """Bytes an item's metadata takes around the list (M0).

    `has_turn_id`: the metadata exists already because it carries a turn id, maybe empty.
    """
    return EXECUTED_CALLS_KEY_BYTES + (SHARED_METADATA_BYTES if has_turn_id else NEW_METADATA_BYTES)


def metadata_bytes(calls: Sequence[ExecutedCall], has_turn_id: bool) -> int:
    """Bytes the records add to an item on the wire; 0 without records (M0)."""
    return list_bytes(calls) + metadata_overhead_bytes(has_turn_id) if calls else 0


def _looks_like_marker(arguments_json: str) -> bool:
    if not arguments_json.startswith("{") or _MARKER_KEY not in arguments_json:
        return False
    arguments = parse(arguments_json)
    return isinstance(arguments, dict) and _MARKER_KEY in arguments
