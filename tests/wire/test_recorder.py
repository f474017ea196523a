"""A prompt's outline is read as it is, in a time that follows its length."""

from __future__ import annotations

import pytest
from sidecall.v1 import recorder_service_pb2 as pb
from sidecall.v1 import tool_call_pb2 as call_pb
from sidecall_server.domain.errors import InvalidArgument
from sidecall_server.domain.outline import PromptOutput
from sidecall_server.domain.values import PayloadKind
from sidecall_server.wire.recorder import read_formats, read_outputs

_CUSTOM = call_pb.PAYLOAD_KIND_CUSTOM


def test_absent_and_empty_ids_differ() -> None:
    messages = [
        pb.PromptOutput(kind=_CUSTOM),
        pb.PromptOutput(kind=_CUSTOM, call_id="", turn_id="", item_id=""),
        pb.PromptOutput(kind=_CUSTOM, call_id="c", turn_id="t", item_id="i"),
    ]
    assert read_outputs(messages, "outputs") == [
        PromptOutput(PayloadKind.CUSTOM, None, None, None),
        PromptOutput(PayloadKind.CUSTOM, "", "", ""),
        PromptOutput(PayloadKind.CUSTOM, "c", "t", "i"),
    ]


@pytest.mark.parametrize("characters", ["x" * 512, "é" * 256, "😀" * 128])
def test_ids_of_512_bytes_are_taken(characters: str) -> None:
    message = pb.PromptOutput(
        kind=_CUSTOM, call_id=characters, turn_id=characters, item_id=characters
    )
    [output] = read_outputs([message], "outputs")
    assert output[1:] == (characters, characters, characters)


@pytest.mark.parametrize("characters", ["x" * 513, "é" * 257, "😀" * 129])
@pytest.mark.parametrize("name", ["call_id", "turn_id", "item_id"])
def test_longer_ids_are_refused_by_their_path(characters: str, name: str) -> None:
    message = pb.PromptOutput(kind=_CUSTOM)
    setattr(message, name, characters)
    with pytest.raises(InvalidArgument) as caught:
        read_outputs([pb.PromptOutput(kind=_CUSTOM), message], "outputs")
    assert [violation.field for violation in caught.value.violations] == [f"outputs[1].{name}"]


def test_no_form_named_means_all() -> None:
    assert read_formats([], "formats") == {1, 2}
    assert read_formats([2, 2], "formats") == {2}
