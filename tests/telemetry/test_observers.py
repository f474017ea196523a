"""What an observer is told, and that one which fails ends no call."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from sidecall_server.app.telemetry.observers import Observers, observer_of
from sidecall_server.domain.declarations import HookPoint
from sidecall_server.domain.failure import AbortReason
from sidecall_server.domain.frames import Block, HookFailed
from sidecall_server.domain.outcome import Completed
from sidecall_server.domain.runtime_limits import RuntimeLimits
from sidecall_server.runtime.observer import NULL_OBSERVER, Observer
from sidecall_server.runtime.sessions import Sessions

from tests.runtime.peer import Peer, PickleCodec, call, hook, tool

TOLD = [name for name in vars(Observer) if not name.startswith("_")]


class Notes(Observer):
    """Writes down what it is told, without sessions and calls."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []


def _note(name: str) -> Any:
    def note(self: Notes, *about: object) -> None:
        kept = tuple(item for item in about if isinstance(item, str))
        self.told.append((name, *kept))

    return note


for _name in TOLD:
    setattr(Notes, _name, _note(_name))


class Faulty(Observer):
    def call_dispatched(self, session: object, call: object) -> None:
        raise ZeroDivisionError("a defect of telemetry")


async def observed(*observers: Observer, **limits: Any) -> Peer:
    sessions = Sessions(RuntimeLimits(**limits), PickleCodec(), observer=observer_of(observers))
    return await Peer(sessions).attach(
        [tool("echo")],
        [hook(HookPoint.PRE_TOOL_USE), hook(HookPoint.POST_TOOL_USE)],
    )


async def test_a_call_is_told_step_by_step() -> None:
    notes = Notes()
    peer = await observed(notes)

    await peer.dispatch(call("call_1"))
    await peer.judge("call_1")
    await peer.answer("call_1")
    await peer.judge("call_1")
    peer.session.close(AbortReason.CANCELLED)

    assert notes.told == [
        ("session_opened",),
        ("call_dispatched",),
        ("call_started",),
        ("hook_asked", "pre_tool_use"),
        ("hook_ended", "pre_tool_use", "Proceed"),
        ("handler_started",),
        ("handler_answered",),
        ("hook_asked", "post_tool_use"),
        ("hook_ended", "post_tool_use", "Proceed"),
        ("call_finished",),
        ("session_closed",),
    ]


async def test_an_unknown_tool_is_dispatched_and_finished_only() -> None:
    notes = Notes()
    peer = await observed(notes)

    await peer.dispatch(call("call_1", "no_such_tool"))

    assert notes.told[1:] == [("call_dispatched",), ("call_finished",)]


@pytest.mark.parametrize("verdict", [HookFailed("why"), Block("")])
async def test_a_hook_that_fails_open_is_told(verdict: object) -> None:
    notes = Notes()
    peer = await observed(notes)

    await peer.dispatch(call("call_1"))
    await peer.judge("call_1", verdict)

    kind = type(verdict).__name__
    assert ("hook_ended", "pre_tool_use", kind) in notes.told
    assert notes.told.count(("hook_failed_open",)) == 1


async def test_a_late_result_and_a_refusal_are_told() -> None:
    notes = Notes()
    peer = await observed(notes, max_calls_in_flight=1)

    await peer.dispatch(call("call_1"), call("call_2"))
    await peer.judge("call_1")
    await peer.cancel("call_1")
    await peer.answer("call_1")

    assert notes.told.count(("limit_refused", "max_calls_in_flight")) == 1
    assert notes.told.count(("late_result",)) == 1


async def test_an_observer_that_fails_is_logged_and_told_no_more_and_the_call_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    notes = Notes()
    peer = await observed(Faulty(), notes)

    for call_id in ("call_1", "call_2"):
        await peer.dispatch(call(call_id))
        await peer.judge(call_id)
        await peer.answer(call_id)
        await peer.judge(call_id)
        assert isinstance(peer.outcome(call_id).result, Completed)

    assert notes.told.count(("call_finished",)) == 2
    errors = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert [record.getMessage() for record in errors] == ["telemetry failed and is off: Faulty"]


def test_without_observers_there_is_nothing_between_the_runtime_and_the_one_that_does_nothing() -> (
    None
):
    assert observer_of([]) is NULL_OBSERVER


def test_several_observers_pass_on_everything_that_an_observer_can_be_told() -> None:
    assert set(TOLD) <= set(vars(Observers))
