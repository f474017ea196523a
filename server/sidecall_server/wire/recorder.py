"""recorder_service.proto: the outline of a prompt comes in, its records go out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from sidecall.v1 import recorder_service_pb2 as pb

from sidecall_server.domain.limits import TEXT_LIMITS
from sidecall_server.domain.outline import PromptBase, PromptOutput
from sidecall_server.domain.recorder import Attachment
from sidecall_server.wire.executed_tool_call import write_executed_call
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
_TOKEN_BYTES: Final = 8


def read_outputs(messages: Sequence[pb.PromptOutput], path: str) -> list[PromptOutput]:
    """The outputs of a prompt, in order."""
    problems = Problems()
    outputs: list[PromptOutput] = []
    append, kinds = outputs.append, PAYLOAD_KINDS
    surely_short = TEXT_LIMITS.max_id_bytes // 4  # characters, whichever they are
    for index, message in enumerate(bounded(messages, path)):
        kind = kinds.get(message.kind)
        has = message.HasField
        # Prompts are long: only what is empty, or may be wrong, is looked at closely.
        call_id = message.call_id or ("" if has("call_id") else None)
        turn_id = message.turn_id or ("" if has("turn_id") else None)
        item_id = message.item_id or ("" if has("item_id") else None)
        if (
            kind is None
            or (call_id and len(call_id) > surely_short)
            or (turn_id and len(turn_id) > surely_short)
            or (item_id and len(item_id) > surely_short)
        ):
            at = f"{path}[{index}]"
            with problems:
                kind = read_enum(kinds, message.kind, f"{at}.kind")
            for name, value in (("call_id", call_id), ("turn_id", turn_id), ("item_id", item_id)):
                with problems:
                    read_id(value or "", f"{at}.{name}")
        if kind is not None:
            append(PromptOutput(kind, call_id, turn_id, item_id))
    problems.check()
    return outputs


def read_base(message: pb.PromptBase, path: str) -> PromptBase:
    """The prompt that another one goes on from."""
    if not message.prompt_token:
        raise missing(f"{path}.prompt_token")
    known = len(message.prompt_token) == _TOKEN_BYTES
    prompt = int.from_bytes(message.prompt_token, "big") if known else 0
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
    attachment: Attachment, recorder: KnownRecorder, formats: frozenset[int]
) -> pb.AttachExecutedToolCallsResponse:
    """The records of a prompt, in the forms that are wanted."""
    typed = pb.EXECUTED_TOOL_CALL_FORMAT_TYPED in formats
    json = pb.EXECUTED_TOOL_CALL_FORMAT_JSON in formats
    response = pb.AttachExecutedToolCallsResponse(
        attached=attachment.attached,
        recorder_sizes=write_recorder_sizes(recorder),
        prompt_token=attachment.prompt.to_bytes(_TOKEN_BYTES, "big"),
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
