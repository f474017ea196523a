"""recorder_service.proto: the outline of a prompt comes in, its records go out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from google.protobuf.message import DecodeError
from sidecall.v1 import recorder_service_pb2 as pb

from sidecall_server.domain.errors import InvalidArgument
from sidecall_server.domain.outline import PromptBase, PromptOutput
from sidecall_server.domain.recorder import Attachment
from sidecall_server.wire.executed_tool_call import write_executed_call
from sidecall_server.wire.raw_message import BYTES, INT32, MANY, ONE, STRING, raw_message
from sidecall_server.wire.session import KnownRecorder, write_recorder_sizes
from sidecall_server.wire.tool_call import PAYLOAD_KINDS
from sidecall_server.wire.validation import (
    MAX_NAMED_VALUES,
    Problems,
    bounded,
    missing,
    read_enum,
    read_id,
)

_FORMATS: Final[Mapping[int, str]] = {
    pb.EXECUTED_TOOL_CALL_FORMAT_TYPED: "typed",
    pb.EXECUTED_TOOL_CALL_FORMAT_JSON: "json",
}
ALL_FORMATS: Final = frozenset(_FORMATS)
_NUMBER_BYTES: Final = 8

MAX_KNOWN_BYTES: Final = 4 << 20
"""Serialised outputs that are remembered; as objects they take about six times as much."""


def _number(field: str) -> int:
    return pb.AttachExecutedToolCallsRequest.DESCRIPTOR.fields_by_name[field].number


_AttachRequest = raw_message(
    "AttachRequest",
    (
        ("session_id", _number("session_id"), STRING, ONE),
        ("sampling_request_id", _number("sampling_request_id"), STRING, ONE),
        ("outputs", _number("outputs"), BYTES, MANY),
        ("turn_id", _number("turn_id"), STRING, ONE),
        ("formats", _number("formats"), INT32, MANY),
        ("base", _number("base"), BYTES, MANY),
    ),
)


def read_attach_request(data: bytes) -> Any:
    """The request, its outputs and its base as bytes.

    Raises:
        DecodeError: it is none.
    """
    return _AttachRequest.FromString(data)


class OutputReader:
    """Reads the outputs of prompts. A prompt repeats those of the last one, and to recognise the
    bytes of an output takes a fifth of the time of reading it."""

    def __init__(self) -> None:
        self._known: dict[bytes, PromptOutput] = {}
        self._known_bytes = 0

    def read(self, serialised: Sequence[bytes], path: str) -> list[PromptOutput]:
        """The outputs, in order."""
        known = self._known
        try:
            return [known[data] for data in bounded(serialised, path)]
        except KeyError:
            pass
        self._known_bytes += sum(map(len, serialised))  # an upper bound: some are known
        if self._known_bytes > MAX_KNOWN_BYTES:
            known.clear()
            self._known_bytes = sum(map(len, serialised))
        problems = Problems()
        for index, data in enumerate(serialised):
            if data not in known:
                with problems:
                    known[data] = _read_output(data, f"{path}[{index}]")
        problems.check()
        return [known[data] for data in serialised]


_IDS: Final[tuple[Literal["call_id", "turn_id", "item_id"], ...]] = (
    "call_id",
    "turn_id",
    "item_id",
)


def _read_output(data: bytes, path: str) -> PromptOutput:
    try:
        message = pb.PromptOutput.FromString(data)
    except DecodeError:
        raise InvalidArgument.of(
            path, "is not a PromptOutput; a string of it may not be UTF-8"
        ) from None
    problems = Problems()
    with problems:
        kind = read_enum(PAYLOAD_KINDS, message.kind, f"{path}.kind")
    ids: list[str | None] = []
    for name in _IDS:
        with problems:
            given = message.HasField(name)
            ids.append(read_id(getattr(message, name), f"{path}.{name}") if given else None)
    problems.check()
    return PromptOutput(kind, *ids)


def read_base(serialised: Sequence[bytes], path: str, prompt_key: bytes) -> PromptBase | None:
    """The prompt that another one goes on from; None: none is said.

    `prompt_key`: what the tokens of the session's prompts begin with.
    """
    if not serialised:
        return None
    try:
        message = pb.PromptBase.FromString(b"".join(serialised))  # parts of one message add up
    except DecodeError:
        raise InvalidArgument.of(path, "is not a PromptBase") from None
    if not message.prompt_token:
        raise missing(f"{path}.prompt_token")
    number = message.prompt_token.removeprefix(prompt_key)
    known = len(number) == _NUMBER_BYTES and number != message.prompt_token
    prompt = int.from_bytes(number, "big") if known else 0
    return PromptBase(prompt, message.kept_outputs)


def read_formats(numbers: Sequence[int], path: str) -> frozenset[int]:
    """The forms of records that are wanted; none named: all."""
    problems = Problems()
    formats: set[int] = set()
    for index, number in enumerate(bounded(numbers, path, MAX_NAMED_VALUES)):
        with problems:
            read_enum(_FORMATS, number, f"{path}[{index}]")
            formats.add(number)
    problems.check()
    return frozenset(formats) or ALL_FORMATS


def write_attachment(
    attachment: Attachment, recorder: KnownRecorder, formats: frozenset[int], prompt_key: bytes
) -> pb.AttachExecutedToolCallsResponse:
    """The records of a prompt, in the forms that are wanted."""
    typed = pb.EXECUTED_TOOL_CALL_FORMAT_TYPED in formats
    json = pb.EXECUTED_TOOL_CALL_FORMAT_JSON in formats
    response = pb.AttachExecutedToolCallsResponse(
        attached=attachment.attached,
        recorder_sizes=write_recorder_sizes(recorder),
        prompt_token=prompt_key + attachment.prompt.to_bytes(_NUMBER_BYTES, "big"),
    )
    add = response.outputs.add  # in place: outputs that are made first are copied
    for item in attachment.items:
        add(
            output_index=item.output_index,
            calls=[write_executed_call(call) for call in item.calls] if typed else None,
            executed_tool_calls_json=item.executed_tool_calls_json if json else None,
            metadata_bytes=item.metadata_bytes,
        )
    return response
