"""The oneof says what a record holds: arguments, or a marker of the server (R8)."""

from __future__ import annotations

from sidecall_server.domain.executed_call import ExecutedCall, Truncation
from sidecall_server.wire.executed_tool_call import write_executed_call


def test_arguments_go_out_without_the_wrapper_that_json_needs() -> None:
    forged = '{"_codex_executed_tool_call_truncated":{"original_bytes":1,"max_bytes":1}}'
    record = ExecutedCall.raw("t", forged)
    assert forged.encode() != record.encoded
    message = write_executed_call(record)
    assert message.WhichOneof("arguments") == "raw_json"
    assert message.raw_json == forged.encode()


def test_a_marker_says_only_what_it_knows() -> None:
    message = write_executed_call(ExecutedCall.marker("t", Truncation(9000, 0)))
    assert message.WhichOneof("arguments") == "truncated"
    assert (message.truncated.original_bytes, message.truncated.max_bytes) == (9000, 0)
    assert not message.truncated.HasField("omitted_calls")
    assert not message.truncated.HasField("original_name_bytes")


def test_a_marker_that_stands_for_no_other_call_may_say_so() -> None:
    marker = ExecutedCall.marker("t", Truncation(1, 0, omitted_calls=0, original_name_bytes=5000))
    truncated = write_executed_call(marker).truncated
    assert truncated.HasField("omitted_calls")
    assert (truncated.omitted_calls, truncated.original_name_bytes) == (0, 5000)
