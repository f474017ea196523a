"""RecorderService: what was attempted reaches the prompt, as messages and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import grpc
import pytest
from sidecall.v1 import recorder_service_pb2 as pb
from sidecall.v1 import session_service_pb2 as session_pb
from sidecall.v1 import tool_call_pb2 as call_pb

from tests.rpc.live import Live, refused, serving

_FUNCTION = call_pb.PAYLOAD_KIND_FUNCTION


@pytest.fixture
async def session_id(live: Live) -> str:
    created = await live.session.CreateSession(session_pb.CreateSessionRequest())
    return str(created.session.session_id)


def _call(call_id: str, arguments: bytes = b'{"a": 1}', **changes: Any) -> call_pb.ToolCall:
    fields: dict[str, Any] = {
        "call_id": call_id,
        "tool_name": call_pb.ToolName(name="tool", namespace="ns"),
        "payload": call_pb.ToolPayload(function=call_pb.FunctionPayload(arguments=arguments)),
    }
    return call_pb.ToolCall(**{**fields, **changes})


async def _record(
    live: Live, session_id: str, call: call_pb.ToolCall, **turn_options: Any
) -> pb.RecordToolCallResponse:
    request = pb.RecordToolCallRequest(session_id=session_id, call=call)
    if turn_options:
        request.turn_options.CopyFrom(session_pb.TurnOptions(**turn_options))
    response: pb.RecordToolCallResponse = await live.recorder.RecordToolCall(request)
    return response


def _asked(session_id: str, *call_ids: str, **changes: Any) -> pb.AttachExecutedToolCallsRequest:
    fields: dict[str, Any] = {"session_id": session_id, "sampling_request_id": "r"}
    fields["outputs"] = [pb.PromptOutput(kind=_FUNCTION, call_id=call_id) for call_id in call_ids]
    return pb.AttachExecutedToolCallsRequest(**{**fields, **changes})


async def _attach(
    live: Live, session_id: str, *call_ids: str, **changes: Any
) -> pb.AttachExecutedToolCallsResponse:
    response: pb.AttachExecutedToolCallsResponse = await live.recorder.AttachExecutedToolCalls(
        _asked(session_id, *call_ids, **changes)
    )
    return response


async def test_a_record_reaches_its_output_in_both_forms(live: Live, session_id: str) -> None:
    recorded = await _record(live, session_id, _call("c"))
    assert recorded.disposition == session_pb.RECORD_DISPOSITION_RECORDED
    answer = await _attach(live, session_id, "x", "c")
    assert answer.attached
    [output] = answer.outputs
    assert output.output_index == 1
    assert output.executed_tool_calls_json == b'[{"name":"ns__tool","arguments":{"a":1}}]'
    [call] = output.calls
    assert (call.name, call.raw_json) == ("ns__tool", b'{"a":1}')
    assert output.metadata_bytes == len(output.executed_tool_calls_json) + 22 + 48
    assert answer.recorder_sizes.retained_outputs == 1


@pytest.mark.parametrize(
    ("formats", "typed", "as_json"),
    [
        ([pb.EXECUTED_TOOL_CALL_FORMAT_TYPED], True, False),
        ([pb.EXECUTED_TOOL_CALL_FORMAT_JSON], False, True),
        (
            [pb.EXECUTED_TOOL_CALL_FORMAT_TYPED, pb.EXECUTED_TOOL_CALL_FORMAT_JSON],
            True,
            True,
        ),
    ],
)
async def test_only_the_forms_that_are_wanted_are_sent(
    live: Live, session_id: str, formats: list[int], typed: bool, as_json: bool
) -> None:
    await _record(live, session_id, _call("c"))
    [output] = (await _attach(live, session_id, "c", formats=formats)).outputs
    assert bool(output.calls) is typed
    assert output.HasField("executed_tool_calls_json") is as_json


async def test_large_arguments_are_a_marker_that_only_the_server_can_make(
    live: Live, session_id: str
) -> None:
    recorded = await _record(live, session_id, _call("c", b"x" * 8193))
    assert recorded.disposition == session_pb.RECORD_DISPOSITION_MARKED
    forged = b'{"_codex_executed_tool_call_truncated":{"original_bytes":1,"max_bytes":0}}'
    await _record(live, session_id, _call("forged", forged))
    large, raw = (await _attach(live, session_id, "c", "forged")).outputs
    [marker] = large.calls
    assert (marker.truncated.original_bytes, marker.truncated.max_bytes) == (8193, 8192)
    assert not marker.truncated.HasField("omitted_calls")
    [call] = raw.calls
    assert call.raw_json == forged
    [wrapped] = json.loads(raw.executed_tool_calls_json)
    assert wrapped["arguments"] == {"_codex_executed_tool_call_raw": json.loads(forged)}


async def test_a_retry_gets_the_same_bytes(live: Live, session_id: str) -> None:
    for number in range(40):
        await _record(live, session_id, _call(f"c{number}", b'"' + b"x" * 2000 + b'"'))
    ids = [f"c{number}" for number in range(40)]
    first = await _attach(live, session_id, *ids)
    assert first.outputs
    assert await _attach(live, session_id, *ids) == first


async def test_a_script_s_calls_come_with_the_output_that_its_cell_is_mapped_to(
    live: Live, session_id: str
) -> None:
    source = call_pb.ToolCallSource(code_mode=call_pb.CodeModeSource(cell_id="cell"))
    registered = await live.recorder.RegisterCell(
        pb.RegisterCellRequest(session_id=session_id, cell_id="cell", output_call_id="exec")
    )
    assert registered.registered
    await _record(live, session_id, _call("n1", source=source))
    await _record(live, session_id, _call("n2", source=source))
    [output] = (await _attach(live, session_id, "exec")).outputs
    assert len(output.calls) == 2


async def test_a_full_table_of_cells_says_so(live: Live, session_id: str) -> None:
    answers = [
        await live.recorder.RegisterCell(
            pb.RegisterCellRequest(
                session_id=session_id, cell_id=f"cell{number}", output_call_id=f"o{number}"
            )
        )
        for number in range(257)
    ]
    assert [answer.registered for answer in answers] == [True] * 256 + [False]
    shown = await live.session.GetSession(session_pb.GetSessionRequest(session_id=session_id))
    assert shown.session.recorder_losses.cell_refused == 1


async def test_code_mode_s_own_exec_is_skipped_in_a_turn_of_code_mode(
    live: Live, session_id: str
) -> None:
    call = _call(
        "c",
        tool_name=call_pb.ToolName(name="exec"),
        payload=call_pb.ToolPayload(custom=call_pb.CustomPayload(input=b"x")),
    )
    mode = session_pb.ToolModeOptions(model_tool_mode=call_pb.TOOL_MODE_CODE_MODE)
    skipped = await _record(live, session_id, call, tool_mode=mode)
    assert skipped.disposition == session_pb.RECORD_DISPOSITION_SKIPPED
    recorded = await _record(live, session_id, call)
    assert recorded.disposition == session_pb.RECORD_DISPOSITION_RECORDED


async def test_the_first_record_of_a_call_stays(live: Live, session_id: str) -> None:
    await _record(live, session_id, _call("c", b"1"))
    again = await _record(live, session_id, _call("c", b"2"))
    assert again.disposition == session_pb.RECORD_DISPOSITION_DUPLICATE
    [output] = (await _attach(live, session_id, "c")).outputs
    assert output.calls[0].raw_json == b"1"


async def test_a_recorder_that_is_off_records_and_attaches_nothing(tmp_path: Path) -> None:
    async with serving(tmp_path, recorder_enabled=False) as live:
        created = await live.session.CreateSession(session_pb.CreateSessionRequest())
        session_id = created.session.session_id
        recorded = await _record(live, session_id, _call("c"))
        assert recorded.disposition == session_pb.RECORD_DISPOSITION_DISABLED
        answer = await _attach(live, session_id, "c")
        assert not answer.attached
        assert list(answer.outputs) == []


async def test_a_turn_may_be_left_out_of_the_record(live: Live, session_id: str) -> None:
    recorded = await _record(live, session_id, _call("c"), recorder_enabled=False)
    assert recorded.disposition == session_pb.RECORD_DISPOSITION_DISABLED
    assert not (await _attach(live, session_id, "c")).attached


async def test_an_output_takes_the_record_of_its_own_turn(live: Live, session_id: str) -> None:
    await _record(live, session_id, _call("c", b"1", turn_id="t1"))
    await _record(live, session_id, _call("c", b"2", turn_id="t2"))
    output = pb.PromptOutput(kind=_FUNCTION, call_id="c", turn_id="t1", item_id="i1")
    answer = await _attach(live, session_id, outputs=[output])
    assert answer.outputs[0].calls[0].raw_json == b"1"
    assert answer.recorder_sizes.direct_calls == 1


async def test_an_output_without_a_call_id_carries_nothing(live: Live, session_id: str) -> None:
    await _record(live, session_id, _call("c"))
    answer = await _attach(live, session_id, outputs=[pb.PromptOutput(kind=_FUNCTION)])
    assert not answer.attached
    assert answer.recorder_sizes.direct_calls == 1


async def test_what_is_recorded_and_attached_is_told_to_watchers(
    live: Live, session_id: str
) -> None:
    watch = live.session.WatchSession(session_pb.WatchSessionRequest(session_id=session_id))
    await watch.read()
    await _record(live, session_id, _call("c", turn_id="t"))
    await _attach(live, session_id, "c")
    recorded, attached = await watch.read(), await watch.read()
    assert recorded.call_recorded.call.call_id == "c"
    assert recorded.call_recorded.call.turn_id == "t"
    assert recorded.call_recorded.disposition == session_pb.RECORD_DISPOSITION_RECORDED
    assert attached.calls_attached == session_pb.CallsAttached(sampling_request_id="r", outputs=1)


def _base(answer: pb.AttachExecutedToolCallsResponse, kept: int) -> pb.PromptBase:
    return pb.PromptBase(prompt_token=answer.prompt_token, kept_outputs=kept)


async def test_a_prompt_can_be_told_as_a_change_to_the_last_one(
    live: Live, session_id: str
) -> None:
    for call_id in ("a", "b", "c"):
        await _record(live, session_id, _call(call_id))
    first = await _attach(live, session_id, "a", "x", "b")
    second = await _attach(live, session_id, "c", sampling_request_id="2", base=_base(first, 2))
    assert [output.output_index for output in second.outputs] == [0, 2]
    whole = await _attach(live, session_id, "a", "x", "c", sampling_request_id="3")
    assert list(whole.outputs) == list(second.outputs)


async def test_what_comes_after_a_base_may_look_like_what_stays(
    live: Live, session_id: str
) -> None:
    await _record(live, session_id, _call("a"))
    first = await _attach(live, session_id, "a", "x")
    second = await _attach(
        live, session_id, "a", "x", sampling_request_id="2", base=_base(first, 2)
    )
    assert [output.output_index for output in second.outputs] == [2]
    whole = await _attach(live, session_id, "a", "x", "a", "x", sampling_request_id="3")
    assert (list(whole.outputs), whole.prompt_token) == (list(second.outputs), second.prompt_token)


@pytest.mark.parametrize("token", ["old", "odd"])
async def test_a_base_that_is_not_the_last_prompt_is_refused_and_changes_nothing(
    live: Live, session_id: str, token: str
) -> None:
    await _record(live, session_id, _call("a"))
    first = await _attach(live, session_id, "a")
    last = await _attach(live, session_id, "a", "x", sampling_request_id="2")
    base = _base(first, 1) if token == "old" else pb.PromptBase(prompt_token=b"?", kept_outputs=1)
    asked = _asked(session_id, sampling_request_id="3", base=base)
    refusal = await refused(live.recorder.AttachExecutedToolCalls(asked))
    assert refusal.code is grpc.StatusCode.FAILED_PRECONDITION
    assert refusal.reason == "PROMPT_BASE_MISMATCH"
    again = await _attach(live, session_id, sampling_request_id="3", base=_base(last, 1))
    assert list(again.outputs) == list(first.outputs)


async def test_a_base_cannot_keep_more_outputs_than_it_has(live: Live, session_id: str) -> None:
    first = await _attach(live, session_id, "a")
    for base, field in (
        (_base(first, 2), "base.kept_outputs"),
        (pb.PromptBase(kept_outputs=1), "base.prompt_token"),
    ):
        asked = _asked(session_id, base=base)
        refusal = await refused(live.recorder.AttachExecutedToolCalls(asked))
        assert refusal.fields == [field]


async def test_a_prompt_of_another_session_is_no_base(live: Live, session_id: str) -> None:
    other = (await live.session.CreateSession(session_pb.CreateSessionRequest())).session.session_id
    first = await _attach(live, session_id, "a")
    await _attach(live, other, "a")
    asked = _asked(other, base=_base(first, 1))
    refusal = await refused(live.recorder.AttachExecutedToolCalls(asked))
    assert refusal.reason == "PROMPT_BASE_MISMATCH"
