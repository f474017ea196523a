"""executed_tool_call.proto: records go out; nothing of it ever comes in (R8)."""

from __future__ import annotations

from sidecall.v1 import executed_tool_call_pb2 as pb

from sidecall_server.domain.executed_call import ExecutedCall


def write_executed_call(call: ExecutedCall) -> pb.ExecutedToolCall:
    """A record. The oneof says what it holds, so arguments need no wrapper here (J6)."""
    raw_json, truncation = call.raw_json, call.truncation
    if raw_json is not None:
        return pb.ExecutedToolCall(name=call.name, raw_json=raw_json)
    assert truncation is not None, "a record without arguments is a marker"
    return pb.ExecutedToolCall(
        name=call.name,
        truncated=pb.Truncation(
            original_bytes=truncation.original_bytes,
            max_bytes=truncation.max_bytes,
            omitted_calls=truncation.omitted_calls,
            original_name_bytes=truncation.original_name_bytes,
        ),
    )
