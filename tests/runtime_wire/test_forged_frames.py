"""Forged frames on an attached stream: each is answered, and nobody else notices (issue 3, 13).

The fixture `scene` keeps a call open in the same session and one in another; after every test it
answers both, dispatches new ones, and sees them all end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from sidecall.v1 import errors_pb2 as errors
from sidecall.v1 import recorder_service_pb2 as recorder_pb
from sidecall.v1 import runtime_stream_pb2 as pb
from sidecall.v1 import session_service_pb2 as session_pb
from sidecall.v1 import tool_call_pb2 as call_pb
from sidecall.v1.recorder_service_pb2_grpc import RecorderServiceStub

from tests.runtime_wire import frames
from tests.runtime_wire.conftest import MAX_CHUNK_BYTES, MAX_MESSAGE_BYTES
from tests.runtime_wire.scene import Scene


def _fields(error: pb.FrameError) -> list[str]:
    return [violation.field for violation in error.field_violations]


async def _recorded(scene: Scene) -> int:
    """Records of direct calls in the session of `mine`."""
    return (await scene.look(scene.mine)).recorder_sizes.direct_calls


async def test_another_session_s_invocation_token_is_unknown(scene: Scene) -> None:
    sequence = await scene.mine.send(frames.answer(await scene.token(scene.other, "held")))
    error = await scene.error(scene.mine, sequence)
    assert (error.reason, error.frame_index) == (errors.ERROR_REASON_UNKNOWN_INVOCATION, 0)
    assert not scene.other.of("call_completed")


async def test_another_session_s_token_ends_no_teardown_and_no_hook(scene: Scene) -> None:
    token = await scene.token(scene.other, "held")
    sequence = await scene.mine.send(
        pb.ClientFrame(teardown_complete=pb.TeardownComplete(invocation_token=token)),
        pb.ClientFrame(hook_verdict=pb.HookVerdict(hook_token=token)),
    )
    await scene.mine.expect("frame_error", count=2)
    found = scene.mine.of("frame_error")
    assert [(error.sequence, error.frame_index) for error in found] == [
        (sequence, 0),
        (sequence, 1),
    ]
    assert {error.reason for error in found} == {errors.ERROR_REASON_UNKNOWN_INVOCATION}


@pytest.mark.parametrize("token", [b"x", b"w" * 16, b"\x00" * 16, b"w" * 100_000])
async def test_a_made_up_token_is_unknown(scene: Scene, token: bytes) -> None:
    pieces = frames.chunks(1, frames.answer(token), MAX_CHUNK_BYTES)
    sequence = 0
    for piece in pieces:
        sequence = await scene.mine.send(piece)
    error = await scene.error(scene.mine, sequence)
    assert error.reason == errors.ERROR_REASON_UNKNOWN_INVOCATION
    assert len(error.message) < 1024


async def test_a_token_that_is_not_issued_yet_is_unknown(scene: Scene) -> None:
    token = await scene.token(scene.mine, "held")
    ahead = token[:-1] + bytes([token[-1] + 1])
    error = await scene.error(scene.mine, await scene.mine.send(frames.answer(ahead)))
    assert error.reason == errors.ERROR_REASON_UNKNOWN_INVOCATION


async def test_a_stale_token_is_counted_and_dropped(scene: Scene) -> None:
    token = await scene.invoked(scene.mine, "done")
    await scene.mine.send(frames.answer(token))
    await scene.mine.expect("call_completed")
    await scene.mine.send(frames.answer(token, b"again"))
    await scene.mine.send(frames.cancel(1, turn_id="nobody's"))  # read after the stale answer
    await scene.mine.expect("cancel_result")
    assert (await scene.look(scene.mine)).late_results == 1
    assert len(scene.mine.of("call_completed")) == 1


async def test_a_sequence_from_the_future_is_refused_and_not_read(scene: Scene) -> None:
    ahead = scene.mine.sequence + 2
    await scene.mine.write_message(ahead, frames.dispatch(frames.call("forged")))
    error = await scene.error(scene.mine, ahead)
    assert error.reason == errors.ERROR_REASON_SEQUENCE_OUT_OF_ORDER
    assert not error.HasField("frame_index"), "the whole message"
    assert await _recorded(scene) == 1


async def test_a_replayed_message_is_dropped(scene: Scene) -> None:
    sequence = await scene.mine.send(frames.dispatch(frames.call("once")))
    await scene.token(scene.mine, "once")
    await scene.mine.write_message(sequence, frames.dispatch(frames.call("once")))
    await scene.mine.write_message(sequence, frames.dispatch(frames.call("forged")))
    await scene.mine.send(frames.cancel(1, turn_id="nobody's"))
    await scene.mine.expect("cancel_result")
    await scene.mine.send(frames.answer(await scene.token(scene.mine, "once")))
    await scene.mine.expect("call_completed")
    invoked = [frame.call.call_id for frame in scene.mine.of("invoke_handler")]
    assert invoked == ["held", "once"]
    assert not scene.mine.of("frame_error")
    assert await _recorded(scene) == 2


@pytest.mark.parametrize("numbered", [False, True])
async def test_an_acknowledgement_from_the_future_is_refused(scene: Scene, numbered: bool) -> None:
    sequence = scene.mine.sequence + 1 if numbered else 0
    frame = frames.dispatch(frames.call("forged")) if numbered else frames.HEARTBEAT
    await scene.mine.write_message(sequence, frame, acknowledged=scene.mine.received + 100)
    error = await scene.error(scene.mine, sequence)
    assert error.reason == errors.ERROR_REASON_ACKNOWLEDGEMENT_OUT_OF_RANGE
    assert not error.HasField("frame_index")
    assert await _recorded(scene) == 1


class Case(NamedTuple):
    """A frame that cannot be used, and what its FrameError says."""

    name: str
    frame: pb.ClientFrame
    reason: errors.ErrorReason.ValueType
    fields: list[str]


def _dispatch(change: Callable[[call_pb.ToolCall], object]) -> pb.ClientFrame:
    call = frames.call("forged")
    change(call)
    return frames.dispatch(call)


_UNKNOWN_KIND = pb.ClientFrame.FromString(b"\xfa\x07\x01x")
_INVALID = errors.ERROR_REASON_INVALID_FIELD
_MISSING = errors.ERROR_REASON_MISSING_FIELD
_UNKNOWN_VALUE = errors.ERROR_REASON_UNKNOWN_ENUM_VALUE

CASES = [
    Case("an empty frame", pb.ClientFrame(), _MISSING, ["frame"]),
    Case("a frame of an unknown kind", _UNKNOWN_KIND, _MISSING, ["frame"]),
    Case(
        "a second Hello",
        pb.ClientFrame(hello=pb.Hello(protocol_versions=[1])),
        _INVALID,
        [],
    ),
    Case(
        "an unknown cancel mode",
        pb.ClientFrame(
            update_tools=pb.UpdateTools(
                upsert=[frames.tool("fine"), frames.tool("bad", cancel_mode=9)]
            )
        ),
        _UNKNOWN_VALUE,
        ["update_tools.upsert[1].cancel_mode"],
    ),
    Case(
        "an unknown hook kind and payload kind",
        pb.ClientFrame(
            update_tools=pb.UpdateTools(upsert=[frames.tool("bad", payload_kinds=[1, 77])])
        ),
        _UNKNOWN_VALUE,
        ["update_tools.upsert[0].payload_kinds[1]"],
    ),
    Case(
        "a hook at no point",
        pb.ClientFrame(
            update_tools=pb.UpdateTools(
                hooks=pb.HookDeclarations(hooks=[pb.HookDeclaration(matchers=["x"])])
            )
        ),
        _MISSING,
        ["update_tools.hooks.hooks[0].point"],
    ),
    Case("no call", pb.ClientFrame(dispatch_call=pb.DispatchCall()), _MISSING,
         ["dispatch_call.call"]),
    Case(
        "a call without turn",
        _dispatch(lambda call: call.ClearField("turn_id")),
        _MISSING,
        ["dispatch_call.call.turn_id"],
    ),
    Case(
        "a call without id",
        _dispatch(lambda call: call.ClearField("call_id")),
        _MISSING,
        ["dispatch_call.call.call_id"],
    ),
    Case(
        "a call without payload",
        _dispatch(lambda call: call.ClearField("payload")),
        _MISSING,
        ["dispatch_call.call.payload"],
    ),
    Case(
        "a result without token",
        pb.ClientFrame(handler_result=pb.HandlerResult(output=frames.text_output())),
        _MISSING,
        ["handler_result.invocation_token"],
    ),
    Case(
        "a result of no kind",
        pb.ClientFrame(handler_result=pb.HandlerResult(invocation_token=b"w" * 16)),
        _MISSING,
        ["handler_result"],
    ),
    Case(
        "a verdict without token",
        pb.ClientFrame(hook_verdict=pb.HookVerdict()),
        _MISSING,
        ["hook_verdict.hook_token"],
    ),
    Case(
        "a cancel of nothing",
        pb.ClientFrame(cancel_calls=pb.CancelCalls(cancel_id=1)),
        _MISSING,
        ["cancel_calls.target"],
    ),
    Case(
        "a teardown without token",
        pb.ClientFrame(teardown_complete=pb.TeardownComplete()),
        _MISSING,
        ["teardown_complete.invocation_token"],
    ),
    Case(
        "a cell without id",
        pb.ClientFrame(register_cell=pb.RegisterCell(output_call=frames.reference("held"))),
        _MISSING,
        ["register_cell.cell_id"],
    ),
    Case("a turn without id", pb.ClientFrame(end_turn=pb.EndTurn()), _MISSING,
         ["end_turn.turn_id"]),
    Case("an empty piece", frames.chunk(1, 10, b""), _INVALID, ["output_chunk.data"]),
    Case(
        "a piece above the chunk limit",
        frames.chunk(1, 60_000, b"x" * (MAX_CHUNK_BYTES + 1)),
        _INVALID,
        ["output_chunk.data"],
    ),
    Case("a piece longer than its frame", frames.chunk(1, 3, b"four"), _INVALID,
         ["output_chunk.data"]),
    Case(
        "a frame in pieces above the frame limit",
        frames.chunk(1, 131_073, b"x"),
        errors.ERROR_REASON_MESSAGE_TOO_LARGE,
        [],
    ),
    Case("pieces that are no frame", frames.chunk(1, 4, b"\xff\xff\xff\xff"), _INVALID, []),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_a_frame_that_cannot_be_used_harms_only_itself(scene: Scene, case: Case) -> None:
    good = frames.dispatch(frames.call("beside"))
    sequence = await scene.mine.send(case.frame, good)
    error = await scene.error(scene.mine, sequence)
    assert (error.reason, error.frame_index) == (case.reason, 0)
    assert _fields(error) == case.fields
    await scene.mine.send(frames.answer(await scene.token(scene.mine, "beside")))
    await scene.mine.expect("call_completed", lambda frame: frame.call.call_id == "beside")
    assert await _recorded(scene) == 2, "held and beside"


async def test_a_refused_dispatch_says_of_which_call_it_speaks(scene: Scene) -> None:
    """Without it a client cannot tell which of its calls will never end."""
    call = frames.call("forged", arguments=b"\xff")
    error = await scene.error(scene.mine, await scene.mine.send(frames.dispatch(call)))
    assert error.reason == errors.ERROR_REASON_INVALID_UTF8
    assert _fields(error) == ["dispatch_call.call.payload.function.arguments"]
    assert error.call == frames.reference("forged")


async def test_another_size_in_the_middle_of_a_transfer_ends_it(scene: Scene) -> None:
    await scene.mine.send(frames.chunk(1, 10, b"12345"))
    error = await scene.error(scene.mine, await scene.mine.send(frames.chunk(1, 11, b"6789")))
    assert _fields(error) == ["output_chunk.size_bytes"]


async def test_pieces_of_pieces_are_refused(scene: Scene) -> None:
    inner = frames.chunk(2, 1, b"x").SerializeToString()
    error = await scene.error(scene.mine, await scene.mine.send(frames.chunk(1, len(inner), inner)))
    assert error.reason == errors.ERROR_REASON_INVALID_FIELD


async def test_too_many_transfers_are_refused_and_the_others_go_on(scene: Scene) -> None:
    whole = frames.dispatch(frames.call("pieced")).SerializeToString()
    await scene.mine.send(frames.chunk(0, len(whole), whole[:5]))
    for transfer in range(1, 64):
        await scene.mine.send(frames.chunk(transfer, 10, b"x"))
    error = await scene.error(scene.mine, await scene.mine.send(frames.chunk(64, 10, b"x")))
    assert error.reason == errors.ERROR_REASON_BUFFER_LIMIT
    await scene.mine.send(frames.chunk(0, len(whole), whole[5:]))
    await scene.mine.send(frames.answer(await scene.token(scene.mine, "pieced")))
    await scene.mine.expect("call_completed")


async def test_a_counted_frame_in_an_uncounted_message_is_refused(scene: Scene) -> None:
    await scene.mine.write_message(
        0, frames.HEARTBEAT, frames.dispatch(frames.call("forged")), frames.HEARTBEAT
    )
    error = await scene.error(scene.mine, 0)
    assert (error.reason, error.frame_index) == (errors.ERROR_REASON_SEQUENCE_OUT_OF_ORDER, 1)
    assert error.call == frames.reference("forged")
    assert await _recorded(scene) == 1


async def test_a_message_above_the_limit_is_refused_as_a_whole(scene: Scene) -> None:
    padding = frames.call("forged", arguments=b"x" * MAX_MESSAGE_BYTES)
    sequence = await scene.mine.send(
        frames.dispatch(frames.call("small")), frames.dispatch(padding)
    )
    error = await scene.error(scene.mine, sequence)
    assert error.reason == errors.ERROR_REASON_MESSAGE_TOO_LARGE
    assert not error.HasField("frame_index")
    assert await _recorded(scene) == 1


@pytest.mark.parametrize(
    "data",
    [b"\xff\xfe\xfd", b"\x08", b"\x1a\xff\xff\xff\xff\x0f", b"\x1a\x05abc", b"\x0b" * 1000],
)
async def test_bytes_that_are_no_message_are_refused(scene: Scene, data: bytes) -> None:
    await scene.mine.write(data)
    error = await scene.error(scene.mine, 0)
    assert error.reason == errors.ERROR_REASON_INVALID_FIELD
    assert not error.HasField("frame_index")


async def test_a_message_with_bytes_for_a_frame_counts_and_harms_only_the_frame(
    scene: Scene,
) -> None:
    good = frames.dispatch(frames.call("beside")).SerializeToString()
    sequence = scene.mine.sequence + 1
    scene.mine.sequence = sequence
    parts = [b"\x08" + bytes([sequence])]
    parts += [b"\x1a" + bytes([len(data)]) + data for data in (b"\xff\xff", good)]
    await scene.mine.write(b"".join(parts))
    error = await scene.error(scene.mine, sequence)
    assert (error.reason, error.frame_index) == (errors.ERROR_REASON_INVALID_FIELD, 0)
    await scene.mine.send(frames.answer(await scene.token(scene.mine, "beside")))


async def test_an_empty_message_is_a_sign_of_life(scene: Scene) -> None:
    await scene.mine.write(b"")
    await scene.mine.send(frames.cancel(1, turn_id="nobody's"))
    await scene.mine.expect("cancel_result")
    assert not scene.mine.of("frame_error")


async def test_nothing_a_client_says_becomes_a_marker(scene: Scene) -> None:
    """R8: on the wire the oneof decides, in JSON the wrapping does (J6)."""
    lookalike = b'{"_codex_executed_tool_call_truncated":{"original_bytes":1,"max_bytes":0}}'
    call = frames.call("lookalike", arguments=lookalike)
    await scene.mine.send(frames.dispatch(call))
    token = await scene.token(scene.mine, "lookalike")
    await scene.mine.send(frames.answer(token))
    await scene.mine.expect("call_completed")
    assert scene.mine.welcome is not None
    stub: Any = RecorderServiceStub(scene.channel)
    attached = await stub.AttachExecutedToolCalls(
        recorder_pb.AttachExecutedToolCallsRequest(
            session_id=scene.mine.welcome.session_id,
            sampling_request_id="r",
            outputs=[
                recorder_pb.PromptOutput(
                    kind=call_pb.PAYLOAD_KIND_FUNCTION, call_id="lookalike", turn_id="turn"
                )
            ],
        )
    )
    (record,) = attached.outputs[0].calls
    assert record.WhichOneof("arguments") == "raw_json"
    assert record.raw_json == lookalike
    wrapped = b'{"_codex_executed_tool_call_raw":' + lookalike + b"}"
    assert wrapped in attached.outputs[0].executed_tool_calls_json


async def test_a_cancel_of_another_session_s_call_is_unknown(scene: Scene) -> None:
    await scene.other.send(frames.dispatch(frames.call("theirs")))
    await scene.token(scene.other, "theirs")
    calls = pb.CallReferences(calls=[frames.reference("theirs")])
    await scene.mine.send(frames.cancel(5, calls=calls))
    result = await scene.mine.expect("cancel_result")
    assert [call.disposition for call in result.calls] == [pb.CANCEL_DISPOSITION_UNKNOWN]
    view = await scene.look(scene.other)
    assert view.open_calls == 2
    assert view.state == session_pb.SESSION_STATE_ATTACHED
    await scene.other.send(frames.answer(await scene.token(scene.other, "theirs")))
    await scene.other.expect("call_completed")
