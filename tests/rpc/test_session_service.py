"""SessionService: open, show, list, watch, end."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from google.rpc.error_details_pb2 import QuotaFailure, RetryInfo
from sidecall.v1 import session_service_pb2 as pb
from sidecall.v1 import tool_call_pb2 as call_pb
from sidecall.v1 import tool_output_pb2 as output_pb
from sidecall_server.domain.session_events import CallsAttached
from sidecall_server.domain.session_options import SessionOptions

from tests.rpc.live import Live, refused, serving


async def _create(live: Live, session_id: str = "", **options: Any) -> pb.CreateSessionResponse:
    response: pb.CreateSessionResponse = await live.session.CreateSession(
        pb.CreateSessionRequest(session_id=session_id, options=pb.SessionOptions(**options))
    )
    return response


async def test_a_session_without_wishes_gets_an_id_a_token_and_all_defaults(live: Live) -> None:
    created = await _create(live)
    session = created.session
    assert session.session_id
    assert created.resume_token
    assert session.state == pb.SESSION_STATE_OPEN
    assert session.effective_tool_mode == call_pb.TOOL_MODE_DIRECT
    assert session.create_time.seconds > 1_700_000_000
    assert session.options == pb.SessionOptions(
        recorder_enabled=True,
        tool_mode=pb.ToolModeOptions(code_mode_available=True),
        post_hook_block=pb.POST_HOOK_BLOCK_REPLACE_OUTPUT,
        mark_external_context=False,
        direct_views=output_pb.ViewSelection(views=[output_pb.VIEW_RESPONSE_ITEM_JSON]),
        nested_views=output_pb.ViewSelection(views=[output_pb.VIEW_CODE_MODE]),
    )


async def test_what_a_session_says_is_shown_as_it_was_said(live: Live) -> None:
    options = pb.SessionOptions(
        recorder_enabled=False,
        tool_mode=pb.ToolModeOptions(
            model_tool_mode=call_pb.TOOL_MODE_CODE_MODE_ONLY,
            code_mode_feature=True,
            code_mode_only_feature=True,
            code_mode_available=False,
            code_mode_fallback_disabled=True,
        ),
        post_hook_block=pb.POST_HOOK_BLOCK_REJECT_RESULT,
        mark_external_context=True,
        direct_views=output_pb.ViewSelection(views=[output_pb.VIEW_LOG, output_pb.VIEW_HOOK]),
        nested_views=output_pb.ViewSelection(views=[output_pb.VIEW_RESPONSE_ITEM]),
        display_name="an agent",
    )
    await live.session.CreateSession(pb.CreateSessionRequest(session_id="s", options=options))
    shown = await live.session.GetSession(pb.GetSessionRequest(session_id="s"))
    assert shown.session.options == options
    assert shown.session.effective_tool_mode == call_pb.TOOL_MODE_CODE_MODE_ONLY


async def test_code_mode_that_is_not_available_falls_back_to_direct(live: Live) -> None:
    mode = pb.ToolModeOptions(code_mode_feature=True, code_mode_available=False)
    created = await _create(live, tool_mode=mode)
    assert created.session.effective_tool_mode == call_pb.TOOL_MODE_DIRECT


async def test_an_empty_selection_of_views_is_none_and_not_the_default(live: Live) -> None:
    created = await _create(live, direct_views=output_pb.ViewSelection())
    assert created.session.options.HasField("direct_views")
    assert list(created.session.options.direct_views.views) == []


@pytest.mark.parametrize("said", [None, True, False])
async def test_a_server_s_recorder_default_holds_for_who_says_nothing(
    tmp_path: Path, said: bool | None
) -> None:
    async with serving(tmp_path, recorder_enabled=False) as live:
        created = await _create(live, recorder_enabled=said)
        assert created.session.options.recorder_enabled is bool(said)


async def test_an_id_that_is_taken_already_exists(live: Live) -> None:
    await _create(live, "s")
    refusal = await refused(live.session.CreateSession(pb.CreateSessionRequest(session_id="s")))
    assert refusal.code is grpc.StatusCode.ALREADY_EXISTS
    assert refusal.reason == "SESSION_ALREADY_EXISTS"


async def test_the_limit_of_sessions_names_itself_and_a_delay(tmp_path: Path) -> None:
    async with serving(tmp_path, max_sessions=1) as live:
        await _create(live)
        refusal = await refused(live.session.CreateSession(pb.CreateSessionRequest()))
        assert refusal.code is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert refusal.reason == "SESSION_LIMIT"
        assert refusal.detail(QuotaFailure).violations[0].subject == "max_sessions"
        assert refusal.detail(RetryInfo).retry_delay.seconds > 0


async def test_a_server_that_drains_opens_no_session(live: Live) -> None:
    await live.sessions.drain(0)
    refusal = await refused(live.session.CreateSession(pb.CreateSessionRequest()))
    assert refusal.code is grpc.StatusCode.UNAVAILABLE
    assert refusal.reason == "DRAINING"


async def test_pages_give_every_session_once_and_in_order(live: Live) -> None:
    for number in range(5):
        await _create(live, f"s-{number}")
    found: list[str] = []
    token = ""
    while True:
        page = await live.session.ListSessions(
            pb.ListSessionsRequest(page_size=2, page_token=token)
        )
        assert len(page.sessions) <= 2
        found += [session.session_id for session in page.sessions]
        token = page.next_page_token
        if not token:
            break
    assert found == [f"s-{number}" for number in range(5)]


@pytest.mark.parametrize(("page_size", "shown"), [(0, 100), (1, 1), (1 << 31, 1000)])
async def test_a_page_has_100_sessions_by_default_and_at_most_1000(
    live: Live, page_size: int, shown: int
) -> None:
    for _ in range(1001):
        live.sessions.create("", SessionOptions())
    page = await live.session.ListSessions(pb.ListSessionsRequest(page_size=page_size))
    assert len(page.sessions) == shown
    assert page.next_page_token


async def test_a_deleted_session_is_gone(live: Live) -> None:
    await _create(live, "s")
    await live.session.DeleteSession(pb.DeleteSessionRequest(session_id="s"))
    refusal = await refused(live.session.GetSession(pb.GetSessionRequest(session_id="s")))
    assert refusal.code is grpc.StatusCode.NOT_FOUND


async def test_a_session_that_was_closed_is_shown_but_takes_nothing(live: Live) -> None:
    await _create(live, "s")
    live.sessions.close()
    shown = await live.session.GetSession(pb.GetSessionRequest(session_id="s"))
    assert shown.session.state == pb.SESSION_STATE_CLOSED
    refusal = await refused(live.session.EndTurn(pb.EndTurnRequest(session_id="s", turn_id="t")))
    assert refusal.code is grpc.StatusCode.FAILED_PRECONDITION
    assert refusal.reason == "SESSION_CLOSED"


async def test_a_turn_ends(live: Live) -> None:
    await _create(live, "s")
    ended = await live.session.EndTurn(pb.EndTurnRequest(session_id="s", turn_id="t"))
    assert ended.open_calls == 0


async def test_a_watch_begins_with_a_snapshot_and_ends_with_its_session(live: Live) -> None:
    created = await _create(live, "s")
    watch = live.session.WatchSession(pb.WatchSessionRequest(session_id="s"))
    first = await watch.read()
    assert first.event_number == 0
    expected = pb.Session()
    expected.CopyFrom(created.session)
    expected.watchers = 1
    assert first.snapshot.session == expected
    await live.session.DeleteSession(pb.DeleteSessionRequest(session_id="s"))
    closed = await watch.read()
    assert closed.state_changed.state == pb.SESSION_STATE_CLOSED
    assert closed.event_number == 1
    assert closed.event_time.seconds > 1_700_000_000
    assert await watch.read() is grpc.aio.EOF
    assert await watch.code() is grpc.StatusCode.OK


async def test_a_watcher_that_leaves_makes_room_for_another(tmp_path: Path) -> None:
    async with serving(tmp_path, max_watchers=1) as live:
        await _create(live, "s")
        watch = live.session.WatchSession(pb.WatchSessionRequest(session_id="s"))
        await watch.read()
        watch.cancel()
        async with asyncio.timeout(10):
            while True:
                with contextlib.suppress(grpc.aio.AioRpcError):
                    another = live.session.WatchSession(pb.WatchSessionRequest(session_id="s"))
                    assert (await another.read()).snapshot.session.watchers == 1
                    break


async def test_too_many_watchers_are_refused(tmp_path: Path) -> None:
    async with serving(tmp_path, max_watchers=1) as live:
        await _create(live, "s")
        watch = live.session.WatchSession(pb.WatchSessionRequest(session_id="s"))
        await watch.read()
        second = live.session.WatchSession(pb.WatchSessionRequest(session_id="s"))
        refusal = await refused(second, second.read())
        assert refusal.code is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert refusal.reason == "WATCHER_LIMIT"


async def test_a_slow_watcher_is_told_how_many_events_it_lost(tmp_path: Path) -> None:
    async with serving(tmp_path, max_watcher_events=1) as live:
        await _create(live, "s")
        watch = live.session.WatchSession(pb.WatchSessionRequest(session_id="s"))
        await watch.read()
        session = live.sessions.get("s")
        for number in range(4):
            session.events.emit(CallsAttached, f"r-{number}", 1)
        first = await watch.read()
        assert first.calls_attached.sampling_request_id == "r-0"
        session.events.emit(CallsAttached, "r-4", 1)
        lost = await watch.read()
        assert lost.events_lost.count == 3
        assert (await watch.read()).calls_attached.sampling_request_id == "r-4"
