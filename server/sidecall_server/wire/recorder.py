"""recorder_service.proto: the outline of a prompt comes in, its records go out."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, Final, Literal, NamedTuple

from google.protobuf.message import DecodeError
from sidecall.v1 import recorder_service_pb2 as pb

from sidecall_server.domain.errors import InvalidArgument
from sidecall_server.domain.limits import TEXT_LIMITS
from sidecall_server.domain.prompt_description import (
    Prompt,
    PromptBase,
    PromptOutput,
    Writing,
    known_outputs,
)
from sidecall_server.domain.recorder_answers import (
    AttachedItem,
    Attachment,
)
from sidecall_server.wire.executed_tool_call import write_executed_call
from sidecall_server.wire.raw_message import BOOL, BYTES, INT32, MANY, ONE, STRING, raw_message
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


_REQUEST: Final = pb.AttachExecutedToolCallsRequest.DESCRIPTOR.fields_by_name
_Outputs = raw_message("Outputs", [("outputs", _REQUEST["outputs"].number, BYTES, MANY)])
_RestOfRequest = raw_message(
    "RestOfRequest",
    (
        ("session_id", _REQUEST["session_id"].number, STRING, ONE),
        ("sampling_request_id", _REQUEST["sampling_request_id"].number, STRING, ONE),
        ("turn_id", _REQUEST["turn_id"].number, STRING, ONE),
        ("formats", _REQUEST["formats"].number, INT32, MANY),
        ("base", _REQUEST["base"].number, BYTES, MANY),
    ),
)


class AttachRequest(NamedTuple):
    """The request; its outputs all together and its base in parts, as bytes."""

    session_id: str
    sampling_request_id: str
    turn_id: str
    formats: Sequence[int]
    base: Sequence[bytes]
    outputs: bytes


def read_attach_request(data: bytes) -> AttachRequest:
    """The request. What is not named is kept as it came, in its order: the outputs.

    Raises:
        DecodeError: it is none.
    """
    rest = _RestOfRequest.FromString(data)
    fields = rest.session_id, rest.sampling_request_id, rest.turn_id
    formats, base = tuple(rest.formats), tuple(rest.base)
    for field, _ in rest.ListFields():
        rest.ClearField(field.name)
    return AttachRequest(*fields, formats, base, rest.SerializeToString())


_RESPONSE: Final = pb.AttachExecutedToolCallsResponse.DESCRIPTOR.fields_by_name
AttachResponse = raw_message(
    "AttachResponse",
    (
        ("attached", _RESPONSE["attached"].number, BOOL, ONE),
        ("outputs", _RESPONSE["outputs"].number, BYTES, MANY),
        ("recorder_sizes", _RESPONSE["recorder_sizes"].number, BYTES, MANY),
        ("prompt_token", _RESPONSE["prompt_token"].number, BYTES, ONE),
    ),
)
"""The answer, its outputs and sizes as bytes."""


def read_outputs(data: bytes, path: str, last: Writing | None) -> Prompt:
    """The outputs, in order. A prompt repeats those of the last one: they are not read again.

    `last`: how that one was written; None: these follow a base, and are only read.
    """
    known = 0 if last is None else known_outputs(last, data)
    end = 0 if last is None else last.end(known)
    parts = _Outputs.FromString(data[end:]).outputs if end < len(data) else ()
    bounded(range(known + len(parts)), path)
    outputs: list[PromptOutput] = []
    problems = Problems()
    for index, part in enumerate(parts, known):
        with problems:
            outputs.append(_read_output(part, f"{path}[{index}]"))
    problems.check()
    writing = None if last is None else _written(last.first(known), parts)
    return Prompt(outputs, known=known, writing=writing)


def _written(start: Writing, parts: Sequence[bytes]) -> Writing:
    """The start of a prompt and further outputs, in the shortest form, as senders write them."""
    if not parts:
        return start
    fields = [_Outputs(outputs=[part]).SerializeToString() for part in parts]
    ends = accumulate(map(len, fields), initial=len(start.data))
    next(ends)
    return Writing(b"".join((start.data, *fields)), start.ends + array(start.ends.typecode, ends))


_IDS: Final[Sequence[Literal["call_id", "turn_id", "item_id"]]] = ("call_id", "turn_id", "item_id")


def _read_output(data: bytes, path: str) -> PromptOutput:
    try:
        message = pb.PromptOutput.FromString(data)
    except DecodeError:
        raise InvalidArgument.of(
            path, "is not a PromptOutput; a string of it may not be UTF-8"
        ) from None
    ids = [getattr(message, name) if message.HasField(name) else None for name in _IDS]
    if len(data) > TEXT_LIMITS.max_id_bytes or message.kind not in PAYLOAD_KINDS:
        _check_output(message.kind, ids, path)  # else nothing of it can be refused
    return PromptOutput(PAYLOAD_KINDS[message.kind], *ids)


def _check_output(kind: int, ids: Sequence[str | None], path: str) -> None:
    problems = Problems()
    with problems:
        read_enum(PAYLOAD_KINDS, kind, f"{path}.kind")
    for name, given in zip(_IDS, ids, strict=True):
        with problems:
            read_id(given or "", f"{path}.{name}")
    problems.check()


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
) -> Any:
    """The records of a prompt, in the forms that are wanted; an `AttachResponse`."""
    return AttachResponse(
        attached=attachment.attached,
        outputs=[_write_item(item, formats) for item in attachment.items],
        recorder_sizes=[write_recorder_sizes(recorder).SerializeToString()],
        prompt_token=prompt_key + attachment.prompt.to_bytes(_NUMBER_BYTES, "big"),
    )


def _write_item(item: AttachedItem, formats: frozenset[int]) -> bytes:
    """An output with its records, written only once as long as prompts repeat it."""
    if item.written is not None and item.written[0] == formats:
        return item.written[1]
    typed = pb.EXECUTED_TOOL_CALL_FORMAT_TYPED in formats
    json = pb.EXECUTED_TOOL_CALL_FORMAT_JSON in formats
    message = pb.AttachedToolCalls(
        output_index=item.output_index,
        calls=map(write_executed_call, item.calls) if typed else None,
        executed_tool_calls_json=item.executed_tool_calls_json if json else None,
        metadata_bytes=item.metadata_bytes,
    )
    written = message.SerializeToString()
    item.written = formats, written
    return written
