"""Options keep what was said; counters and events go out under their own names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sidecall.v1 import session_service_pb2 as pb
from sidecall_server.domain.errors import InvalidArgument
from sidecall_server.domain.fields import names_of
from sidecall_server.domain.frames import CallDurations, CallReference
from sidecall_server.domain.outcome import CallOutcome, Completed, LifecycleFinish
from sidecall_server.domain.recorder_answers import (
    RecordDisposition,
    RecorderLosses,
    RecorderSizes,
)
from sidecall_server.domain.session_events import (
    CallFinished,
    CallRecorded,
    CallsAttached,
    CallStarted,
    EventsLost,
    ExternalContextMarked,
    NumberedEvent,
    SessionEvent,
    SessionState,
    StateChanged,
)
from sidecall_server.domain.session_options import (
    PostHookBlock,
    SessionOptions,
    ToolModeOptions,
    TurnOptions,
    View,
)
from sidecall_server.domain.values import ToolMode, ToolName
from sidecall_server.wire.session import (
    _write_losses,
    read_session_options,
    read_turn_options,
    write_event,
    write_recorder_sizes,
    write_session_options,
)

_CALL = CallReference("t", "c")
_modes = st.builds(
    ToolModeOptions,
    st.none() | st.sampled_from(ToolMode),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
_views = st.lists(st.sampled_from(View)).map(tuple)
_options = st.builds(
    SessionOptions,
    st.booleans(),
    _modes,
    st.sampled_from(PostHookBlock),
    st.booleans(),
    _views,
    _views,
    st.text(st.characters(codec="utf-8"), max_size=20),
)


@given(_options, _options)
def test_options_that_go_out_come_back_whatever_the_defaults(
    options: SessionOptions, defaults: SessionOptions
) -> None:
    message = pb.SessionOptions.FromString(write_session_options(options).SerializeToString())
    assert read_session_options(message, "options", defaults) == options


@given(st.booleans())
def test_what_is_not_said_is_as_in_the_defaults(enabled: bool) -> None:
    defaults = SessionOptions(recorder_enabled=enabled, mark_external_context=enabled)
    assert read_session_options(pb.SessionOptions(), "options", defaults) == defaults


def test_a_turn_that_says_nothing_is_as_its_session() -> None:
    assert read_turn_options(pb.TurnOptions(), "turn_options") == TurnOptions()


def test_a_turn_may_switch_the_recorder_off_and_choose_its_mode() -> None:
    message = pb.TurnOptions(recorder_enabled=False, tool_mode=pb.ToolModeOptions())
    read = read_turn_options(message, "turn_options")
    assert read == TurnOptions(recorder_enabled=False, tool_mode=ToolModeOptions())


def test_options_that_cannot_be_used_are_named_together() -> None:
    message = pb.SessionOptions(
        post_hook_block=7,  # type: ignore[arg-type]
        tool_mode=pb.ToolModeOptions(model_tool_mode=7),  # type: ignore[arg-type]
    )
    with pytest.raises(InvalidArgument) as caught:
        read_session_options(message, "hello.options")
    assert [violation.field for violation in caught.value.violations] == [
        "hello.options.post_hook_block",
        "hello.options.tool_mode.model_tool_mode",
    ]


def test_every_cause_of_loss_is_shown_under_its_own_name() -> None:
    names = names_of(RecorderLosses)
    losses = RecorderLosses(**{name: number for number, name in enumerate(names, 1)})
    shown = {field.name: value for field, value in _write_losses(losses).ListFields()}
    assert shown == {name: getattr(losses, name) for name in names}
    assert shown.keys() == set(pb.RecorderLosses.DESCRIPTOR.fields_by_name)


class _FullRecorder:
    """A recorder of which every size differs."""

    losses = RecorderLosses()
    held_bytes = 6

    def sizes(self) -> RecorderSizes:
        return RecorderSizes(1, 2, 3, 4, 5)


def test_every_size_is_shown_under_its_own_name() -> None:
    assert write_recorder_sizes(_FullRecorder()) == pb.RecorderSizes(
        direct_calls=1,
        cells=2,
        output_cells=3,
        retained_outputs=4,
        pending_nested_calls=5,
        held_bytes=6,
    )


_OUTCOME = CallOutcome(Completed(True), LifecycleFinish.COMPLETED, True)
_EVENTS: list[tuple[SessionEvent, str]] = [
    (CallStarted(_CALL, ToolName("t", "n"), "cell"), "call_started"),
    (CallFinished(_CALL, _OUTCOME, CallDurations(None, None, 1.0)), "call_finished"),
    (CallRecorded(_CALL, RecordDisposition.MARKED), "call_recorded"),
    (CallsAttached("r", 3), "calls_attached"),
    (ExternalContextMarked(_CALL), "external_context_marked"),
    (StateChanged(SessionState.DETACHED), "state_changed"),
    (EventsLost(7), "events_lost"),
]


@pytest.mark.parametrize(("event", "kind"), _EVENTS, ids=lambda value: str(value)[:20])
def test_an_event_keeps_its_number_its_time_and_its_kind(event: SessionEvent, kind: str) -> None:
    message = write_event(NumberedEvent(9, 1_700_000_000.5, event))
    assert message.event_number == 9
    assert message.event_time.ToNanoseconds() == 1_700_000_000_500_000_000
    assert message.WhichOneof("event") == kind


def test_every_event_of_the_contract_but_the_snapshot_is_written() -> None:
    oneof = pb.WatchSessionResponse.DESCRIPTOR.oneofs_by_name["event"]
    assert {kind for _, kind in _EVENTS} | {"snapshot"} == {field.name for field in oneof.fields}


def test_events_say_what_they_are_about() -> None:
    started, finished, recorded, attached, marked, moved, lost = [
        write_event(NumberedEvent(1, 0.0, event)) for event, _ in _EVENTS
    ]
    assert started.call_started.tool_name.namespace == "n"
    assert started.call_started.cell_id == "cell"
    assert finished.call_finished.outcome.completed.success
    assert recorded.call_recorded.disposition == pb.RECORD_DISPOSITION_MARKED
    assert attached.calls_attached.outputs == 3
    assert marked.external_context_marked.call.call_id == "c"
    assert moved.state_changed.state == pb.SESSION_STATE_DETACHED
    assert lost.events_lost.count == 7
