"""A prompt's outline is read as it is, in a time that follows its length."""

from __future__ import annotations

import pytest
from sidecall.v1 import recorder_service_pb2 as pb
from sidecall.v1 import tool_call_pb2 as call_pb
from sidecall_server.domain.errors import InvalidArgument
from sidecall_server.domain.outline import PromptBase, PromptOutput
from sidecall_server.domain.values import PayloadKind
from sidecall_server.wire import recorder
from sidecall_server.wire.recorder import (
    OutputReader,
    read_attach_request,
    read_base,
    read_formats,
)

_CUSTOM = call_pb.PAYLOAD_KIND_CUSTOM


def read_outputs(messages: list[pb.PromptOutput], path: str) -> list[PromptOutput]:
    return OutputReader().read([message.SerializeToString() for message in messages], path)


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


def test_what_was_read_before_is_the_same_again(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = OutputReader()
    data = [pb.PromptOutput(kind=_CUSTOM, call_id=name).SerializeToString() for name in "abc"]
    first = reader.read(data[:2], "outputs")
    again = reader.read(data, "outputs")
    assert [one is other for one, other in zip(first, again, strict=False)] == [True, True]
    monkeypatch.setattr(recorder, "MAX_KNOWN_BYTES", 20)
    assert reader.read([b"\x08\x02", *data], "outputs")[1:] == again
    assert len(reader._known) == 4, "and no more"


def test_an_output_that_is_none_is_refused_by_its_place() -> None:
    good = pb.PromptOutput(kind=_CUSTOM).SerializeToString()
    reader = OutputReader()
    for _ in range(2):  # what was refused is not remembered
        with pytest.raises(InvalidArgument) as caught:
            reader.read([good, b"\xff", b"\x12\x01\xff"], "outputs")
        fields = [violation.field for violation in caught.value.violations]
        assert fields == ["outputs[1]", "outputs[2]"]


def test_the_request_is_read_as_its_proto_says() -> None:
    """The description with outputs as bytes must not drift from the contract."""
    request = pb.AttachExecutedToolCallsRequest(
        session_id="s",
        sampling_request_id="r",
        outputs=[pb.PromptOutput(kind=_CUSTOM, call_id="c")],
        turn_id="t",
        formats=[pb.EXECUTED_TOOL_CALL_FORMAT_JSON],
        base=pb.PromptBase(prompt_token=b"key" + b"\0" * 7 + b"\5", kept_outputs=3),
    )
    assert {field.name for field, _ in request.ListFields()} == set(
        pb.AttachExecutedToolCallsRequest.DESCRIPTOR.fields_by_name
    ), "a new field is for both"
    read = read_attach_request(request.SerializeToString())
    assert (read.session_id, read.sampling_request_id, read.turn_id) == ("s", "r", "t")
    assert list(read.outputs) == [request.outputs[0].SerializeToString()]
    assert list(read.formats) == [2]
    assert read_base(read.base, "base", b"key") == PromptBase(5, 3)
    assert read_base(read.base, "base", b"kez") == PromptBase(0, 3)
    assert read.SerializeToString() == request.SerializeToString()
