"""One request per unary rpc, and what its response must hold.

Each is asked of a session of its own (`session_id` is filled in) with two calls of the turn
`turn_1`: `ended`, of a tool that nobody has, and `open`, which waits for its tool.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Final, NamedTuple

from tests.grpcurl.grpcurl import Json


class Sample(NamedTuple):
    """A request, and fields of its response; further fields may stand there."""

    request: Json
    response: Json


def text(value: str) -> str:
    """Text as a `bytes` field of JSON."""
    return b64encode(value.encode()).decode()


NAME: Final[Json] = {"name": "t"}
FUNCTION: Final[Json] = {"function": {"arguments": text("{}")}}
CALL: Final[Json] = {"call_id": "c", "tool_name": NAME, "payload": FUNCTION}
ENDED: Final[Json] = {"turn_id": "turn_1", "call_id": "ended"}
OPEN: Final[Json] = {"turn_id": "turn_1", "call_id": "open"}

SAMPLES: Final[dict[str, Sample]] = {
    "sidecall.v1.SessionService/CreateSession": Sample(
        {"options": {"display_name": "é", "tool_mode": {"model_tool_mode": "TOOL_MODE_CODE_MODE"}}},
        {
            "session": {
                "state": "SESSION_STATE_OPEN",
                "options": {"recorder_enabled": True, "display_name": "é"},
                "effective_tool_mode": "TOOL_MODE_CODE_MODE",
            }
        },
    ),
    "sidecall.v1.SessionService/GetSession": Sample(
        {}, {"session": {"state": "SESSION_STATE_DETACHED", "open_calls": 1, "terminal_calls": "1"}}
    ),
    "sidecall.v1.SessionService/ListSessions": Sample({"page_size": 1}, {"sessions": [{}]}),
    "sidecall.v1.SessionService/DeleteSession": Sample({}, {"aborted_calls": 1}),
    "sidecall.v1.SessionService/EndTurn": Sample({"turn_id": "turn_1"}, {"open_calls": 1}),
    "sidecall.v1.RuntimeService/GetRuntimeInfo": Sample(
        {}, {"protocol_versions": [1], "limits": {"max_id_bytes": 512, "resume_grace": "30s"}}
    ),
    "sidecall.v1.RuntimeService/GetToolCall": Sample(
        {"call": ENDED},
        {
            "call": {
                "call": ENDED,
                "dispatch_order": "1",
                "phase": "CALL_PHASE_TERMINAL",
                "outcome": {"model_failure": {"message": "unsupported call: nobody"}},
            },
            "projections": {
                "response_item_json": text(
                    '{"type":"function_call_output","call_id":"ended",'
                    '"output":"unsupported call: nobody"}'
                )
            },
        },
    ),
    "sidecall.v1.RuntimeService/ListToolCalls": Sample(
        {"turn_id": "turn_1"},
        {
            "calls": [
                {"call": {"call": ENDED, "phase": "CALL_PHASE_TERMINAL"}},
                {"call": {"call": OPEN, "phase": "CALL_PHASE_WAITING_FOR_READINESS"}},
            ]
        },
    ),
    "sidecall.v1.RuntimeService/CancelToolCall": Sample(
        {"target": {"calls": {"calls": [ENDED, OPEN]}}},
        {
            "calls": [
                {"call": ENDED, "disposition": "CANCEL_DISPOSITION_ALREADY_TERMINAL"},
                {"call": OPEN, "disposition": "CANCEL_DISPOSITION_ACCEPTED"},
            ]
        },
    ),
    "sidecall.v1.RuntimeService/NormalizePrompt": Sample(
        {
            "entries": [
                {"call": {"kind": "PAYLOAD_KIND_FUNCTION", "call_id": "c"}},
                {"output": {"kind": "PAYLOAD_KIND_CUSTOM", "call_id": "x"}},
            ]
        },
        {
            "missing_outputs": [
                {
                    "response_item_json": text(
                        '{"type":"function_call_output","call_id":"c","output":"aborted"}'
                    )
                }
            ],
            "orphan_entry_indexes": [1],
        },
    ),
    "sidecall.v1.RecorderService/RecordToolCall": Sample(
        {"call": {**CALL, "turn_id": "turn_2"}}, {"disposition": "RECORD_DISPOSITION_RECORDED"}
    ),
    "sidecall.v1.RecorderService/RegisterCell": Sample(
        {"cell_id": "cell_1", "output_call_id": "ended", "turn_id": "turn_1"}, {"registered": True}
    ),
    "sidecall.v1.RecorderService/AttachExecutedToolCalls": Sample(
        {
            "sampling_request_id": "request_1",
            "outputs": [{"kind": "PAYLOAD_KIND_FUNCTION", **ENDED}],
        },
        {
            "attached": True,
            "outputs": [
                {
                    "calls": [{"name": "nobody", "raw_json": text('{"n":1.10}')}],
                    "executed_tool_calls_json": text('[{"name":"nobody","arguments":{"n":1.10}}]'),
                    "metadata_bytes": "65",
                }
            ],
        },
    ),
    "sidecall.v1.ProjectionService/ProjectToolOutput": Sample(
        {
            "call": CALL,
            "output": {"json": {"value_json": text('{"b":1.0,"a":"é"}')}},
            "views": {"views": ["VIEW_CODE_MODE", "VIEW_LOG"]},
        },
        {
            "projections": {
                "log": {"preview": '{"b":1.0,"a":"é"}'},
                "code_mode_json": text('{"b":1.0,"a":"é"}'),
                "success_for_logging": True,
            }
        },
    ),
    "sidecall.v1.ProjectionService/ProjectToolFailure": Sample(
        {"call": CALL, "aborted": {"reason": "ABORT_REASON_CANCELLED", "elapsed": "1.25s"}},
        {
            "message": "aborted by user after 1.2s",
            "projections": {
                "response_item": {
                    "function_call_output": {
                        "call_id": "c",
                        "output": {"text": text("aborted by user after 1.2s")},
                    }
                }
            },
        },
    ),
    "sidecall.v1.ProjectionService/ProjectCellResult": Sample(
        {
            "call": {**CALL, "payload": {"custom": {"input": text("1")}}},
            "content": [{"input_text": {"text": text("done")}}],
            "completed": {},
            "wall_time": "0.5s",
        },
        {
            "projections": {
                "log": {"preview": "Script completed\nWall time 0.5 seconds\nOutput:\n\ndone"}
            }
        },
    ),
    "sidecall.v1.ProjectionService/TruncateText": Sample(
        {"text": text("example output"), "policy": {"bytes": 1}},
        {"text": text("…13 chars truncated…t")},
    ),
}
