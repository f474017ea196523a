"""No value of the contract's enums, and none of the domain's, is forgotten."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

import pytest
from sidecall.v1 import (
    call_outcome_pb2,
    recorder_service_pb2,
    runtime_stream_pb2,
    session_service_pb2,
    tool_call_pb2,
    tool_output_pb2,
)
from sidecall_server.domain.call_state import Phase
from sidecall_server.domain.content import ImageDetail
from sidecall_server.domain.failure import AbortReason
from sidecall_server.domain.frames import CancelDisposition
from sidecall_server.domain.outcome import AbortProgress, LifecycleFinish, TeardownState
from sidecall_server.domain.recorder_answers import (
    RecordDisposition,
)
from sidecall_server.domain.session_events import SessionState
from sidecall_server.domain.session_options import PostHookBlock, View
from sidecall_server.domain.values import PayloadKind, ToolMode
from sidecall_server.wire import call_outcome, recorder, runtime, session, tool_call, tool_output

_READ: list[tuple[Any, Mapping[int, Any], type[Enum] | None, set[int]]] = [
    (tool_call_pb2.PayloadKind, tool_call.PAYLOAD_KINDS, PayloadKind, {0}),
    (tool_call_pb2.ToolMode, tool_call.TOOL_MODES, ToolMode, {0}),
    (tool_output_pb2.ImageDetail, tool_output._DETAILS, ImageDetail, set()),
    (tool_output_pb2.View, tool_output._VIEWS, View, {0}),
    (session_service_pb2.PostHookBlock, session._BLOCKS, PostHookBlock, set()),
    (call_outcome_pb2.AbortReason, call_outcome.ABORT_REASONS, AbortReason, {0}),
    (recorder_service_pb2.ExecutedToolCallFormat, recorder._FORMATS, None, {0}),
]
_WRITTEN: list[tuple[Any, Mapping[Any, int], Iterable[Enum], set[int]]] = [
    (tool_call_pb2.PayloadKind, tool_call.PAYLOAD_KIND_NUMBERS, PayloadKind, {0}),
    (tool_call_pb2.ToolMode, tool_call.TOOL_MODE_NUMBERS, ToolMode, {0}),
    (tool_output_pb2.View, tool_output._VIEW_NUMBERS, View, {0}),
    (session_service_pb2.PostHookBlock, session._BLOCK_NUMBERS, PostHookBlock, {0}),
    (session_service_pb2.SessionState, session._STATES, SessionState, {0}),
    (session_service_pb2.RecordDisposition, session._DISPOSITIONS, RecordDisposition, {0}),
    (call_outcome_pb2.AbortReason, call_outcome.ABORT_REASON_NUMBERS, AbortReason, {0}),
    (call_outcome_pb2.AbortProgress, call_outcome._PROGRESS, AbortProgress, {0}),
    (call_outcome_pb2.TeardownState, call_outcome._TEARDOWN, TeardownState, set()),
    (call_outcome_pb2.LifecycleFinish, call_outcome._LIFECYCLE, LifecycleFinish, set()),
    (call_outcome_pb2.CallPhase, call_outcome.CALL_PHASE_NUMBERS, Phase, {0}),
    (runtime_stream_pb2.CancelDisposition, runtime._DISPOSITIONS, CancelDisposition, {0}),
]


@pytest.mark.parametrize(("enum", "table", "domain", "left_out"), _READ)
def test_every_value_that_can_come_in_has_a_meaning(
    enum: Any, table: Mapping[int, Any], domain: type[Enum] | None, left_out: set[int]
) -> None:
    assert table.keys() == set(enum.values()) - left_out
    if domain is not None:
        assert set(table.values()) - {None} == set(domain)


@pytest.mark.parametrize(("enum", "table", "domain", "left_out"), _WRITTEN)
def test_every_meaning_has_a_value_that_goes_out(
    enum: Any, table: Mapping[Any, int], domain: type[Enum], left_out: set[int]
) -> None:
    assert table.keys() == set(domain)
    assert set(table.values()) == set(enum.values()) - left_out


@pytest.mark.parametrize(
    ("read", "written"),
    [
        (tool_call.PAYLOAD_KINDS, tool_call.PAYLOAD_KIND_NUMBERS),
        (tool_call.TOOL_MODES, tool_call.TOOL_MODE_NUMBERS),
        (tool_output._DETAILS, tool_output._DETAIL_NUMBERS),
        (tool_output._VIEWS, tool_output._VIEW_NUMBERS),
        (call_outcome.ABORT_REASONS, call_outcome.ABORT_REASON_NUMBERS),
    ],
)
def test_a_value_goes_out_as_it_came_in(
    read: Mapping[int, Any], written: Mapping[Any, int]
) -> None:
    assert {number: written[value] for number, value in read.items()} == {
        number: number for number in read
    }


@pytest.mark.parametrize(
    ("enum", "prefix", "table"),
    [
        (call_outcome_pb2.AbortReason, "ABORT_REASON_", call_outcome.ABORT_REASON_NUMBERS),
        (call_outcome_pb2.AbortProgress, "ABORT_PROGRESS_", call_outcome._PROGRESS),
        (call_outcome_pb2.LifecycleFinish, "LIFECYCLE_FINISH_", call_outcome._LIFECYCLE),
        (session_service_pb2.SessionState, "SESSION_STATE_", session._STATES),
        (session_service_pb2.RecordDisposition, "RECORD_DISPOSITION_", session._DISPOSITIONS),
        (tool_output_pb2.View, "VIEW_", tool_output._VIEW_NUMBERS),
        (tool_call_pb2.PayloadKind, "PAYLOAD_KIND_", tool_call.PAYLOAD_KIND_NUMBERS),
        (tool_call_pb2.ToolMode, "TOOL_MODE_", tool_call.TOOL_MODE_NUMBERS),
    ],
)
def test_names_say_the_same_on_both_sides(enum: Any, prefix: str, table: Mapping[Any, int]) -> None:
    for value, number in table.items():
        if number:
            assert enum.Name(number) == prefix + value.name
