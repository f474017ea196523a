"""An agent against a real sidecar process: the whole loop, ordered by events."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path

import pytest
from sidecall.client import (
    Aborted,
    AlreadyExistsError,
    Block,
    CallReference,
    Completed,
    Custom,
    Endpoint,
    FailedPreconditionError,
    FatalFailure,
    Feedback,
    Function,
    Hook,
    HookInput,
    InvalidArgumentError,
    Invocation,
    JsonOutput,
    LimitError,
    ModelFailure,
    PromptOutput,
    Rewrite,
    SessionLostError,
    SessionOptions,
    SidecallError,
    Tool,
    ToolCall,
    UnavailableError,
    spawn,
)

from tests.client.agents import SIDECALL, Bench, attached, call, echo, said

SLOW_SECONDS = 0.5
"""How long a busy machine may take to greet; no order depends on it."""


async def test_a_call_runs_its_handler_and_comes_back(endpoint: Endpoint) -> None:
    async with attached(endpoint) as agent:
        result = await agent.call(call("a", arguments='{"x": 1}'))
        assert result.outcome == Completed(success=True)
        assert said(result) == "{'x': 1}"
        assert result.handler_seconds is not None
        custom = ToolCall("b", "echo", Custom("free text"), turn_id="t")
        assert said(await agent.call(custom)) == "free text"


async def test_a_turn_gives_its_outputs_in_call_order(endpoint: Endpoint) -> None:
    bench = Bench()
    async with attached(endpoint, bench) as agent:
        turn = agent.turn("t")
        pending = [turn.dispatch(call(name, "hold")) for name in "abc"]
        for name in "abc":
            await bench.begun(name)
        assert bench.most == 3, "they run side by side"
        for index in (2, 0, 1):
            bench.release("abc"[index])
            await pending[index]
        results = await turn.results()
        assert [result.call.call_id for result in results] == ["a", "b", "c"]
        assert [result.dispatch_order for result in results] == [1, 2, 3]
        assert all(
            f"held {name}" in item
            for name, item in zip("abc", await turn.response_items(), strict=True)
        )


async def test_tools_that_do_not_share_run_one_by_one(endpoint: Endpoint) -> None:
    bench = Bench()
    async with attached(endpoint, bench) as agent:
        first, second = agent.dispatch(call("a", "alone")), agent.dispatch(call("b", "alone"))
        await bench.begun("a")
        bench.release("a", "b")
        await first
        await second
        assert bench.most == 1


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("model", ModelFailure("try again")),
        ("fatal", FatalFailure("no more")),
        ("bug", FatalFailure("tool task failed to receive: oops")),
    ],
)
async def test_a_handler_s_error_is_what_it_says_it_is(
    endpoint: Endpoint, kind: str, outcome: object, caplog: pytest.LogCaptureFixture
) -> None:
    async with attached(endpoint) as agent:
        result = await agent.call(call("a", "raises", f'{{"kind":"{kind}"}}'))
        assert result.outcome == outcome
        if isinstance(outcome, FatalFailure):
            with pytest.raises(FailedPreconditionError) as refused:
                await agent.call(call("b"))
            assert refused.value.reason == "TURN_ENDED"
            assert (await agent.call(call("c", turn="next"))).outcome == Completed(success=True)
    assert ("oops" in caplog.text) == (kind == "bug"), "a program error is for the maintainer"


async def test_an_option_lets_the_model_read_unmapped_errors(endpoint: Endpoint) -> None:
    async with attached(endpoint, unhandled_errors="respond_to_model") as agent:
        result = await agent.call(call("a", "raises", '{"kind":"bug"}'))
        assert result.outcome == ModelFailure("oops")


async def test_arguments_that_are_not_json_are_the_model_s_to_mend(endpoint: Endpoint) -> None:
    async with attached(endpoint) as agent:
        result = await agent.call(call("a", arguments="{"))
        assert isinstance(result.outcome, ModelFailure)
        assert result.outcome.message.startswith("failed to parse function arguments")
        assert said(await agent.call(call("b", arguments=" "))) == "{}"


@pytest.mark.parametrize("name", ["hold", "shell"])
async def test_cancelling_a_call_cancels_its_task(endpoint: Endpoint, name: str) -> None:
    bench = Bench()
    async with attached(endpoint, bench) as agent:
        pending = agent.dispatch(call("a", name))
        await bench.begun("a")
        assert await pending.cancel() == "accepted"
        result = await pending
        outcome = result.outcome
        assert isinstance(outcome, Aborted)
        assert (outcome.reason, outcome.progress) == ("cancelled", "handler_interrupted")
        assert outcome.teardown == ("done" if name == "shell" else "none")
        await bench.event(bench.cancelled, "a").wait()
        assert await pending.cancel() == "already_terminal"


async def test_cancelling_who_waits_in_call_cancels_the_call(endpoint: Endpoint) -> None:
    bench = Bench()
    async with attached(endpoint, bench) as agent:
        waiting = asyncio.create_task(agent.call(call("a", "shell")))
        await bench.begun("a")
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        again = await agent.call(call("a", "shell"))
        assert isinstance(again.outcome, Aborted), "the same call again has the same outcome"


async def test_a_turn_is_cancelled_as_a_whole(endpoint: Endpoint) -> None:
    bench = Bench()
    async with attached(endpoint, bench) as agent:
        turn = agent.turn("t")
        turn.dispatch(call("a", "alone"))
        turn.dispatch(call("b", "alone"))
        await bench.begun("a")
        assert set((await turn.cancel()).values()) == {"accepted"}
        progress = [result.outcome for result in await turn.results()]
        assert [getattr(outcome, "progress", None) for outcome in progress] == [
            "handler_interrupted",
            "not_started",
        ]


async def test_hooks_rewrite_block_and_answer(endpoint: Endpoint) -> None:
    async def pre(asked: HookInput) -> Rewrite | Block | None:
        if asked.tool_input == {"x": 1}:
            return Rewrite.of({"x": 2}, ["was 1"])
        return Block("not this") if asked.tool_input == {"x": 9} else None

    async def post(asked: HookInput) -> Feedback | None:
        return Feedback("seen") if asked.tool_response == "{'x': 5}" else None

    hooks = [Hook("pre_tool_use", pre), Hook("post_tool_use", post)]
    async with attached(endpoint, hooks=hooks) as agent:
        rewritten = await agent.call(call("a", arguments='{"x":1}'))
        assert said(rewritten) == "{'x': 2}"
        assert rewritten.additional_contexts == ("was 1",)
        blocked = await agent.call(call("b", arguments='{"x":9}'))
        assert blocked.lifecycle == "blocked"
        assert said(await agent.call(call("c", arguments='{"x":5}'))) == "seen"


async def test_work_goes_on_while_the_connection_is_lost(endpoint: Endpoint) -> None:
    bench = Bench()
    connections: list[str] = []
    resumed = asyncio.Event()

    def connected(outcome: str) -> None:
        connections.append(outcome)
        if len(connections) > 1:
            resumed.set()

    async with attached(endpoint, bench, on_connection=connected) as agent:
        during, after = agent.dispatch(call("a", "hold")), agent.dispatch(call("b", "hold"))
        await bench.begun("a")
        await bench.begun("b")
        agent.drop_connection()
        bench.release("a")
        assert said(await during) == "held a"
        await resumed.wait()
        bench.release("b")
        assert said(await after) == "held b"
        assert connections == ["new", "resumed"]
        results = await asyncio.gather(*(agent.call(call(f"n{number}")) for number in range(50)))
        assert {type(result.outcome) for result in results} == {Completed}


async def test_large_arguments_and_outputs_come_whole(endpoint: Endpoint) -> None:
    async def large(invocation: Invocation) -> JsonOutput:
        return JsonOutput.of("é" * 1_500_000)

    async with attached(endpoint) as agent:
        agent.update_tools([Tool("large", large)])
        result = await agent.call(
            call("a", "large", '"' + "x" * 1_000_000 + '"'), views=["code_mode"]
        )
        assert result.projections is not None
        assert result.projections.code_mode_json == '"' + "é" * 1_500_000 + '"'


async def test_a_tool_that_gets_ready_takes_the_calls_that_wait(endpoint: Endpoint) -> None:
    async with attached(endpoint) as agent:
        agent.update_tools([Tool("later", echo, ready=False)])
        pending = agent.dispatch(call("a", "later"))
        agent.update_tools([Tool("later", echo)])
        assert (await pending).outcome == Completed(success=True)
        agent.update_tools(remove=["later"])
        gone = await agent.call(call("b", "later"))
        assert gone.outcome == ModelFailure("unsupported call: later")


async def test_records_are_attached_to_what_the_agent_dispatched(endpoint: Endpoint) -> None:
    async with attached(endpoint) as agent:
        await agent.call(call("a", arguments='{"n": 1e400}'))
        assert await agent.register_cell("cell", "a", "t")
        nested = ToolCall("exec-1", "echo", Function("[]"), turn_id="t", cell_id="cell")
        result = await agent.call(nested)
        assert result.projections is not None
        assert result.projections.code_mode_json == '"[]"'
        attachment = await agent.attach("r", [PromptOutput("function", "a", "t")], "t")
        assert attachment.outputs[0].executed_tool_calls_json == (
            '[{"name":"echo","arguments":{"n":1e400}},{"name":"echo","arguments":[]}]'
        )


async def test_a_prompt_is_told_as_a_change_and_whole_where_somebody_else_attached(
    endpoint: Endpoint,
) -> None:
    outputs = [PromptOutput("function", name, "t") for name in "abc"]
    async with attached(endpoint) as agent:
        for name in "abc":
            await agent.call(call(name))
        first = await agent.attach("1", outputs[:2])
        second = await agent.attach("2", outputs)
        assert [output.output_index for output in first.outputs] == [0, 1]
        assert [output.output_index for output in second.outputs] == [0, 1, 2]
        await agent.unary.attach(agent.session_id, "3", outputs[:1])
        third = await agent.attach("4", outputs[:1])
        assert [output.output_index for output in third.outputs] == [0]
        assert (await agent.attach("5", [])).outputs == ()


async def test_the_same_call_again_runs_once_and_another_payload_conflicts(
    endpoint: Endpoint,
) -> None:
    bench = Bench()
    async with attached(endpoint, bench) as agent:
        pending = agent.dispatch(call("a", "hold"))
        assert agent.dispatch(call("a", "hold")) is pending
        with pytest.raises(AlreadyExistsError):
            agent.dispatch(call("a", "hold", "[]"))
        bench.release("a")
        first = await pending
        assert await agent.call(call("a", "hold")) == first
        with pytest.raises(AlreadyExistsError) as conflict:
            await agent.call(call("a", "hold", "[]"))
        assert conflict.value.reason == "CALL_ID_CONFLICT"


async def test_a_call_that_cannot_be_is_refused_with_its_field(endpoint: Endpoint) -> None:
    async with attached(endpoint) as agent:
        with pytest.raises(InvalidArgumentError) as refused:
            await agent.call(call("a", turn=""))
        (violation,) = refused.value.field_violations
        assert violation.field == "dispatch_call.call.turn_id"
        assert (await agent.call(call("b"))).outcome == Completed(success=True)


async def test_a_call_without_an_id_is_refused_too(endpoint: Endpoint) -> None:
    async with attached(endpoint) as agent:
        with pytest.raises(InvalidArgumentError) as refused:
            await agent.call(call(""))
        (violation,) = refused.value.field_violations
        assert violation.field == "dispatch_call.call.call_id"


async def test_a_notice_says_whether_it_was_taken(endpoint: Endpoint) -> None:
    async with attached(endpoint) as agent:
        with pytest.raises(InvalidArgumentError) as refused:
            await agent.end_turn("")
        assert refused.value.reason == "MISSING_FIELD"
        with pytest.raises(InvalidArgumentError):
            await agent.update_tools([Tool("x" * 8193, echo)])
        await agent.turn("t").end()
        with pytest.raises(FailedPreconditionError):
            await agent.call(call("a"))


async def test_a_result_that_the_server_cannot_use_ends_its_call(endpoint: Endpoint) -> None:
    async def wrong(invocation: Invocation) -> JsonOutput:
        return JsonOutput("NaN")

    async with attached(endpoint) as agent:
        await agent.update_tools([Tool("wrong", wrong)])
        outcome = (await agent.call(call("a", "wrong"))).outcome
        assert isinstance(outcome, FatalFailure)
        assert "INVALID_JSON" in outcome.message


async def test_what_is_larger_than_the_server_takes_is_not_sent() -> None:
    async def large(invocation: Invocation) -> str:
        return "x" * 400_000

    limit = ["--max-frame-bytes", "300000"]
    async with (
        spawn(executable=SIDECALL, arguments=limit) as small,
        attached(small) as agent,
    ):
        await agent.update_tools([Tool("large", large)])
        with pytest.raises(LimitError) as refused:
            agent.dispatch(call("a", arguments="x" * 400_000))
        assert refused.value.reason == "MESSAGE_TOO_LARGE"
        outcome = (await agent.call(call("a", "large"))).outcome
        assert isinstance(outcome, FatalFailure)
        assert "MESSAGE_TOO_LARGE" in outcome.message


async def test_a_prompt_has_the_records_of_what_was_dispatched_before(endpoint: Endpoint) -> None:
    bench = Bench()
    async with attached(endpoint, bench) as agent:
        pending = agent.dispatch(call("a", "hold"))
        attachment = await agent.attach("r", [PromptOutput("function", "a")])
        assert attachment.attached
        bench.release("a")
        await pending


async def test_a_turn_gives_the_output_of_a_call_that_came_twice_once(endpoint: Endpoint) -> None:
    async with attached(endpoint) as agent:
        turn = agent.turn("t")
        first = await turn.dispatch(call("a"))
        assert await turn.dispatch(call("a")) == first
        assert await turn.results() == [first]
        assert len(await turn.response_items()) == 1


async def test_a_call_that_waits_in_the_client_can_be_cancelled() -> None:
    bench = Bench()
    async with (
        spawn(executable=SIDECALL, arguments=["--max-calls-in-flight", "1"]) as small,
        attached(small, bench) as agent,
    ):
        first, second = (agent.dispatch(call(name, "hold")) for name in "ab")
        await bench.begun("a")
        assert await second.cancel() == "accepted"
        bench.release("a")
        assert (await first).outcome == Completed(success=True)
        outcome = (await second).outcome
        assert isinstance(outcome, Aborted)
        assert outcome.progress == "not_started"


async def test_payloads_beyond_the_server_s_bytes_wait_in_the_client() -> None:
    bench = Bench()
    async with (
        spawn(executable=SIDECALL, arguments=["--max-bytes-in-flight", "100000"]) as small,
        attached(small, bench) as agent,
    ):
        large = '"' + "x" * 60_000 + '"'
        pending = [agent.dispatch(call(name, "hold", large)) for name in "abc"]
        bench.release(*"abc")
        outcomes = [(await one).outcome for one in pending]
        assert outcomes == [Completed(success=True)] * 3
        assert bench.most == 1


async def test_more_calls_than_the_server_takes_wait_in_the_client() -> None:
    bench = Bench()
    async with (
        spawn(executable=SIDECALL, arguments=["--max-calls-in-flight", "2"]) as small,
        attached(small, bench) as agent,
    ):
        pending = [agent.dispatch(call(name, "hold")) for name in "abcd"]
        await bench.begun("b")
        bench.release(*"abcd")
        outcomes = [(await one).outcome for one in pending]
        assert outcomes == [Completed(success=True)] * 4
        assert bench.most <= 2


async def test_a_timeout_ends_a_call(endpoint: Endpoint) -> None:
    async with attached(endpoint) as agent:
        result = await agent.call(call("a", "hold"), timeout_seconds=0.05)
        assert isinstance(result.outcome, Aborted)
        assert result.outcome.reason == "timed_out"


async def test_an_agent_attaches_to_a_session_made_before(endpoint: Endpoint) -> None:
    async with attached(endpoint) as agent:
        made = await agent.unary.create_session("prepared", SessionOptions(display_name="mine"))
        assert made.state == "open"
    async with attached(endpoint, session_id="prepared") as other:
        assert other.session_id == "prepared"
        await other.call(call("a"))
    async with attached(endpoint) as last:
        with pytest.raises(SidecallError) as closed:
            await last.unary.record_tool_call("prepared", call("b"))
        assert closed.value.reason == "SESSION_CLOSED", "leaving the block closed it"


async def test_a_killed_sidecar_loses_the_session_and_everyone_is_told(tmp_path: Path) -> None:
    bench = Bench()
    address = f"unix://{tmp_path / 's.sock'}"
    process = await asyncio.create_subprocess_exec(
        SIDECALL,
        "serve",
        "--socket",
        str(tmp_path / "s.sock"),
        "--resume-grace-seconds",
        "1",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    await process.stdout.readline()
    async with attached(Endpoint(address), bench) as agent:
        turn = agent.turn("t")
        done = turn.dispatch(call("done", "hold"))
        bench.release("done")
        await done
        pending = turn.dispatch(call("a", "hold"))
        await bench.begun("a")
        process.kill()
        await process.wait()
        replacement = await asyncio.create_subprocess_exec(
            SIDECALL,
            "serve",
            "--socket",
            str(tmp_path / "s.sock"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            with pytest.raises(SessionLostError) as lost:
                await pending
            assert lost.value.reason == "SESSION_NOT_FOUND"
            assert "started anew" in lost.value.message
            with pytest.raises(SessionLostError):
                await turn.response_items()
            with pytest.raises(SessionLostError):
                agent.dispatch(call("b"))
            with pytest.raises(SessionLostError):
                await agent.cancel([CallReference("t", "a")])
            await bench.event(bench.cancelled, "a").wait()
        finally:
            replacement.send_signal(signal.SIGTERM)
            await replacement.wait()


async def test_a_drain_is_told_and_loses_no_outcome(tmp_path: Path) -> None:
    bench = Bench()
    drained: asyncio.Future[float] = asyncio.get_running_loop().create_future()
    process = await asyncio.create_subprocess_exec(
        SIDECALL,
        "serve",
        "--socket",
        str(tmp_path / "s.sock"),
        "--resume-grace-seconds",
        "1",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    await process.stdout.readline()
    endpoint = Endpoint(f"unix://{tmp_path / 's.sock'}")
    async with attached(endpoint, bench, on_drain=drained.set_result) as agent:
        held = [agent.dispatch(call(f"{number}", "hold")) for number in range(20)]
        for number in range(20):
            await bench.begun(f"{number}")
        process.send_signal(signal.SIGTERM)
        assert await drained == pytest.approx(10, abs=1)
        with pytest.raises(UnavailableError) as refused:
            await agent.call(call("late"))
        assert refused.value.reason == "DRAINING"
        bench.release(*(f"{number}" for number in range(20)))
        outcomes = {(await one).outcome for one in held}
        assert outcomes == {Completed(success=True)}
        assert await process.wait() == 0


async def test_a_sidecar_leaves_with_its_agent() -> None:
    script = (
        "import asyncio, os, sys\n"
        "from sidecall.client import spawn\n"
        "async def main():\n"
        f"    async with spawn(executable={SIDECALL!r}) as endpoint:\n"
        "        print(endpoint.address, flush=True)\n"
        "        await asyncio.sleep(1000)\n"
        "asyncio.run(main())\n"
    )
    agent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE
    )
    assert agent.stdout is not None
    address = (await agent.stdout.readline()).decode().strip().removeprefix("unix://")
    agent.kill()
    await agent.wait()
    async with asyncio.timeout(20):
        while os.path.exists(address):  # noqa: ASYNC110, ASYNC240  # nothing tells when a file goes
            await asyncio.sleep(0.01)


async def test_a_sidecar_that_is_slow_to_greet_is_waited_for(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer):
            while data := await reader.read(65536):
                writer.write(data)

    async def greet_late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(SLOW_SECONDS)
        far = await asyncio.open_unix_connection(endpoint.address.removeprefix("unix://"))
        await asyncio.gather(pass_on(reader, far[1]), pass_on(far[0], writer))

    near = tmp_path / "s.sock"
    server = await asyncio.start_unix_server(greet_late, near)
    async with server, attached(Endpoint(f"unix://{near}")) as agent:
        assert (await agent.call(call("a"))).outcome == Completed(success=True)


async def test_a_sidecar_that_cannot_start_says_why() -> None:
    with pytest.raises(UnavailableError, match="SIDECALL_BIN"):
        async with spawn(executable="/nowhere/sidecall"):
            pass
    with pytest.raises(UnavailableError, match="unrecognized"):
        async with spawn(executable=SIDECALL, arguments=["--nonsense"]):
            pass
