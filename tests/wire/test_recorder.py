"""A prompt's outline is read as it is, and its records are written as they are, each once."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sidecall.v1 import recorder_service_pb2 as pb
from sidecall.v1 import tool_call_pb2 as call_pb
from sidecall_server.domain.errors import InvalidArgument
from sidecall_server.domain.executed_call import ExecutedCall, Truncation, metadata_bytes
from sidecall_server.domain.limits import MAX_LIST_ITEMS, MAX_UINT64
from sidecall_server.domain.outline import Outline
from sidecall_server.domain.prompt_description import Prompt, PromptBase, PromptOutput, Writing
from sidecall_server.domain.recorder import Recorder
from sidecall_server.domain.recorder_answers import (
    MAX_WRITTEN_FACTOR,
    AttachedItem,
    Attachment,
)
from sidecall_server.domain.values import PayloadKind
from sidecall_server.wire import recorder
from sidecall_server.wire.executed_tool_call import write_executed_call
from sidecall_server.wire.recorder import (
    ALL_FORMATS,
    read_attach_request,
    read_base,
    read_formats,
    read_outputs,
    write_attachment,
)
from sidecall_server.wire.session import write_recorder_sizes

_CUSTOM = call_pb.PAYLOAD_KIND_CUSTOM


def field(part: bytes, padding: int = 0) -> bytes:
    """An output as a field of the request, its length in more bytes than it needs to have."""
    size = len(part)
    length = [size >> 7 * place & 0x7F | 0x80 for place in range(1 + (size > 127) + padding)]
    return bytes([0x1A, *length[:-1], length[-1] & 0x7F]) + part


def written(parts: Sequence[bytes]) -> bytes:
    """Outputs as a request holds them."""
    return b"".join(map(field, parts))


def read(messages: Sequence[pb.PromptOutput]) -> Sequence[PromptOutput]:
    request = pb.AttachExecutedToolCallsRequest(outputs=messages).SerializeToString()
    return read_outputs(read_attach_request(request).outputs, "outputs", Writing()).outputs


def tell(outline: Outline, data: bytes) -> list[PromptOutput]:
    """Read a whole prompt, and let it be the last one."""
    outline.take(read_outputs(data, "outputs", outline.writing))
    return [outline[index] for index in range(len(outline))]


def test_absent_and_empty_ids_differ() -> None:
    messages = [
        pb.PromptOutput(kind=_CUSTOM),
        pb.PromptOutput(kind=_CUSTOM, call_id="", turn_id="", item_id=""),
        pb.PromptOutput(kind=_CUSTOM, call_id="c", turn_id="t", item_id="i"),
    ]
    assert read(messages) == [
        PromptOutput(PayloadKind.CUSTOM, None, None, None),
        PromptOutput(PayloadKind.CUSTOM, "", "", ""),
        PromptOutput(PayloadKind.CUSTOM, "c", "t", "i"),
    ]


@pytest.mark.parametrize("characters", ["x" * 512, "é" * 256, "😀" * 128])
def test_ids_of_512_bytes_are_taken(characters: str) -> None:
    message = pb.PromptOutput(
        kind=_CUSTOM, call_id=characters, turn_id=characters, item_id=characters
    )
    [output] = read([message])
    assert output[1:] == (characters, characters, characters)


@pytest.mark.parametrize("characters", ["x" * 513, "é" * 257, "😀" * 129])
@pytest.mark.parametrize("name", ["call_id", "turn_id", "item_id"])
def test_longer_ids_are_refused_by_their_path(characters: str, name: str) -> None:
    message = pb.PromptOutput(kind=_CUSTOM)
    setattr(message, name, characters)
    with pytest.raises(InvalidArgument) as caught:
        read([pb.PromptOutput(kind=_CUSTOM), message])
    assert [violation.field for violation in caught.value.violations] == [f"outputs[1].{name}"]


def test_no_form_named_means_all() -> None:
    assert read_formats([], "formats") == {1, 2}
    assert read_formats([2, 2], "formats") == {2}


@pytest.mark.interpreted
def test_what_a_prompt_repeats_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    read_anew = list[str]()
    plain = recorder._read_output

    def counted(data: bytes, path: str) -> PromptOutput:
        read_anew.append(path)
        return plain(data, path)

    monkeypatch.setattr(recorder, "_read_output", counted)
    parts = [pb.PromptOutput(kind=_CUSTOM, call_id=name).SerializeToString() for name in "abcd"]
    outline = Outline()
    for told, expected in (
        (parts[:2], [0, 1]),
        (parts, [2, 3]),
        (parts, []),
        (parts[:3], []),
        (parts[:2] + parts[3:], [2]),
        (parts[1:], [0, 1, 2]),
    ):
        read_anew.clear()
        outputs = tell(outline, written(told))
        assert [output.call_id for output in outputs] == [part[4:].decode() for part in told]
        assert read_anew == [f"outputs[{index}]" for index in expected]


@pytest.mark.parametrize("known", [0, 1])
def test_an_output_that_is_none_is_refused_by_its_place(known: int) -> None:
    good = pb.PromptOutput(kind=_CUSTOM).SerializeToString()
    outline = Outline()
    tell(outline, written([good] * known))
    for _ in range(2):  # what was refused is not remembered
        with pytest.raises(InvalidArgument) as caught:
            read_outputs(written([good, b"\xff", b"\x12\x01\xff"]), "outputs", outline.writing)
        fields = [violation.field for violation in caught.value.violations]
        assert fields == ["outputs[1]", "outputs[2]"]


def test_too_many_outputs_are_refused_before_they_are_read() -> None:
    good = pb.PromptOutput(kind=_CUSTOM).SerializeToString()
    outline = Outline()
    tell(outline, written([good] * MAX_LIST_ITEMS))
    for last in (outline.writing, Writing()):
        with pytest.raises(InvalidArgument, match="at most 32768 items, not 32769"):
            read_outputs(written([good] * MAX_LIST_ITEMS + [b"\xff"]), "outputs", last)


_PARTS = st.sampled_from(
    [
        pb.PromptOutput(kind=_CUSTOM, call_id="a").SerializeToString(),
        pb.PromptOutput(kind=_CUSTOM, call_id="b", turn_id="").SerializeToString(),
        pb.PromptOutput(kind=_CUSTOM, call_id="x" * 200, item_id="i").SerializeToString(),
        b"\x12\x01a\x08\x02",  # the first one, the other way round
        b"\x08\x02\x12\x01a\x7a\x00",  # with a field that nobody knows
        b"\x08\x02\x12\x00\x12\x01a",  # with a field twice
        b"",  # refused: without a kind
        b"\xff",  # refused: no message
    ]
)
_FIELDS = st.lists(
    st.builds(field, _PARTS)
    | st.builds(field, _PARTS, st.integers(1, 2))
    | st.sampled_from([b"\x22\x01t", b"\x12\x01r", b"\x28\x02", b"\x7a\x01?", b"\x18\x05"]),
    max_size=6,
)
"""Outputs in many ways of writing them, with other fields of the request, known or not, between."""


def _outcome(data: bytes, last: Outline) -> object:
    try:
        prompt = read_outputs(data, "outputs", last.writing)
        return [*(last[index] for index in range(prompt.known)), *prompt.outputs]
    except InvalidArgument as refusal:
        return refusal.violations, refusal.reason, str(refusal)


@given(st.lists(st.tuples(st.integers(0, 12), _FIELDS), max_size=6))
def test_a_prompt_is_read_as_if_it_were_the_first(prompts: list[tuple[int, list[bytes]]]) -> None:
    """Whatever the last one was, and however both are written."""
    outline, fields = Outline(), list[bytes]()
    for kept, more in prompts:
        fields = fields[:kept] + more
        data = read_attach_request(b"".join(fields)).outputs
        expected = _outcome(data, Outline())
        assert _outcome(data, outline) == expected
        if isinstance(expected, list):
            again = pb.AttachExecutedToolCallsRequest.FromString(b"".join(fields)).outputs
            assert read(again) == expected
            assert tell(outline, data) == expected


def test_a_base_cuts_what_is_known_of_the_last_prompt() -> None:
    outline = Outline()
    parts = [pb.PromptOutput(kind=_CUSTOM, call_id=name).SerializeToString() for name in "abc"]
    tell(outline, written(parts))
    whole = outline.writing
    outline.take(Prompt([], PromptBase(1, 3)))
    assert outline.writing is whole
    other = read_outputs(written(parts[2:]), "outputs", Writing()).outputs
    outline.take(Prompt(other, PromptBase(1, 1)))
    assert outline.writing.data == written(parts[:1]), "the rest was told after a base"
    assert [output.call_id for output in tell(outline, written(parts))] == ["a", "b", "c"]


def test_how_a_prompt_was_written_is_counted() -> None:
    outline = Outline()
    part = pb.PromptOutput(kind=_CUSTOM, call_id="a").SerializeToString()
    outputs = tell(outline, written([part] * 100))
    plain = Outline()
    plain.take(Prompt(outputs))
    assert outline.held_bytes - plain.held_bytes == 100 * (len(field(part)) + 8)
    tell(outline, b"")
    assert outline.held_bytes == 0


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
    assert read.outputs == written([request.outputs[0].SerializeToString()])
    assert read.formats == (2,)
    assert read_base(read.base, "base", b"key") == PromptBase(5, 3)
    assert read_base(read.base, "base", b"kez") == PromptBase(0, 3)


_CALLS = st.lists(
    st.builds(
        ExecutedCall.raw,
        st.text(max_size=20),
        st.sampled_from(["{}", '"é"', '{"_codex_executed_tool_call_truncated":1}']),
    )
    | st.builds(
        ExecutedCall.marker,
        st.text(max_size=20),
        st.builds(
            Truncation,
            st.integers(0, MAX_UINT64),
            st.integers(0, MAX_UINT64),
            st.none() | st.integers(0, MAX_UINT64),
            st.none() | st.integers(0, MAX_UINT64),
        ),
    ),
    min_size=1,
    max_size=4,
).map(tuple)
_FORMS = st.sampled_from([frozenset({1}), frozenset({2}), frozenset({1, 2})])


@given(
    st.lists(st.tuples(_CALLS, st.booleans()), max_size=4),
    st.integers(0, MAX_LIST_ITEMS - 4),
    st.lists(_FORMS, min_size=1, max_size=3),
)
def test_the_answer_is_written_as_its_proto_says(
    carried: list[tuple[tuple[ExecutedCall, ...], bool]],
    first_index: int,
    forms: list[frozenset[int]],
) -> None:
    """In the forms that each request wants, whatever those before it wanted."""
    items = tuple(
        AttachedItem(index, calls, metadata_bytes(calls, has_turn_id))
        for index, (calls, has_turn_id) in enumerate(carried, first_index)
    )
    attachment = Attachment(bool(items), 5, items)
    for formats in forms:
        answer = write_attachment(attachment, Recorder(), formats, b"key")
        expected = pb.AttachExecutedToolCallsResponse(
            attached=bool(items),
            recorder_sizes=write_recorder_sizes(Recorder()),
            prompt_token=b"key" + b"\0" * 7 + b"\5",
        )
        for item in items:
            expected.outputs.add(
                output_index=item.output_index,
                calls=[write_executed_call(call) for call in item.calls] if 1 in formats else None,
                executed_tool_calls_json=item.executed_tool_calls_json if 2 in formats else None,
                metadata_bytes=item.metadata_bytes,
            )
            assert item.written is not None
            assert len(item.written[1]) <= MAX_WRITTEN_FACTOR * item.metadata_bytes
        read = pb.AttachExecutedToolCallsResponse.FromString(answer.SerializeToString())
        assert read == expected


def test_what_is_attached_again_is_not_written_again() -> None:
    item = AttachedItem(0, (ExecutedCall.raw("tool", "{}"),), 100)
    write_attachment(Attachment(True, 1, (item,)), Recorder(), ALL_FORMATS, b"key")
    written = item.written
    write_attachment(Attachment(True, 2, (item,)), Recorder(), ALL_FORMATS, b"key")
    assert item.written is written
