"""The demo: a sidecar, an agent with real tools, one scripted turn and a bit of the next.

Everything goes over one stream. The sidecar records, decides and projects; the tools run
here.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sidecall.client import (
    Agent,
    Block,
    CallResult,
    Custom,
    FatalError,
    Feedback,
    Hook,
    HookInput,
    Invocation,
    PendingCall,
    PromptOutput,
    SessionOptions,
    Tool,
    ToolCall,
    View,
    connect,
    spawn,
)

from demo import script
from demo.mcp_tools import mcp_tools
from demo.patch import Patch
from demo.report import flat_name, print_attachment, print_call, print_paragraph
from demo.script import Step
from demo.shell import Shell


async def forbid_deletion(asked: HookInput) -> Block | None:
    """The pre hook."""
    if "rm -rf" in asked.payload.tool_input_json:
        return Block("nothing is deleted here.")
    return None


async def withhold_passwords(asked: HookInput) -> Feedback | None:
    """The post hook."""
    if "password=" in (asked.payload.tool_response_json or ""):
        return Feedback("The output held a password and was withheld.")
    return None


async def full_disk(invocation: Invocation) -> str:
    """A tool that ends the turn."""
    raise FatalError("the disk is full")


class Demo:
    """Plays the script and keeps what came of it."""

    def __init__(self, agent: Agent, shell: Shell, execute: Exec, connections: list[str]) -> None:
        self._agent = agent
        self._shell = shell
        self._exec = execute
        self._connections = connections
        self._turn = agent.turn(script.TURN)
        self._steps: list[tuple[Step, CallResult]] = []
        self.problems: list[str] = []

    async def play(self, repository: Path) -> None:
        """The whole of it."""
        for step in script.one_by_one():
            self._keep(step, await self._dispatch(step))
        batch = [(step, self._dispatch(step)) for step in script.in_parallel(str(repository))]
        for step, pending in batch:
            self._keep(step, await pending)
        await self._cancelled()
        await self._reconnected()
        await self._nested()
        await self._next_request()
        await self._fatal()

    # --- scenes -----------------------------------------------------------------------

    async def _cancelled(self) -> None:
        step = Step(
            "a command that is cancelled and torn down",
            script.shell("call_12", "echo begun; sleep 600"),
            script.is_torn_down,
        )
        self._shell.running.clear()
        pending = self._dispatch(step)
        await self._shell.running.wait()
        await pending.cancel()
        self._keep(step, await pending)
        self._check("the process of call_12 is gone", "call_12" in self._shell.killed)

    async def _reconnected(self) -> None:
        step = Step(
            "a connection that breaks while the command runs",
            script.shell("call_13", "echo begun; sleep 0.3; echo ended"),
            script.shows("ended", success=True),
        )
        self._shell.running.clear()
        pending = self._dispatch(step)
        await self._shell.running.wait()
        self._agent.drop_connection()
        self._keep(step, await pending)
        self._check("the stream was resumed", self._connections == ["new", "resumed"])

    async def _nested(self) -> None:
        """A script in a cell calls a tool; its record travels on the output of `exec`."""
        step = Step(
            "a script in a cell (code mode) that calls a tool",
            script.call("call_14", "exec", payload=Custom("text(await tools.shell(...))")),
            script.shows("the script read: 16"),
        )
        self._keep(step, await self._dispatch(step))
        assert self._exec.nested is not None, "the script called a tool"
        nested, result = self._exec.nested
        print_call(None, "… and what the script called", nested, result)

    async def _next_request(self) -> None:
        """Outputs in call order, with the records that the sidecar attaches."""
        outputs = [
            PromptOutput(step.call.payload.kind, step.call.call_id, script.TURN)
            for step, _ in self._steps
        ]
        attachment = await self._agent.attach("request-2", outputs, script.TURN)
        again = await self._agent.attach("request-2", outputs, script.TURN)
        self._check("a retry of the request attaches the same bytes", attachment == again)
        titles = [(step.title, step.call.call_id) for step, _ in self._steps]
        print_attachment(titles, attachment)
        counts = {
            entry.output_index: len(entry.executed_tool_calls) for entry in attachment.outputs
        }
        expected = dict.fromkeys(range(len(outputs)), 1)
        expected[len(outputs) - 1] = 2  # `exec` itself and what its script called
        self._check("every attempt has its record, failed ones too", counts == expected)
        items = await self._turn.response_items()
        order = [json.loads(item)["call_id"] for item in items]
        self._check(
            "the outputs stand in call order",
            order == [step.call.call_id for step, _ in self._steps],
        )

    async def _fatal(self) -> None:
        """The next turn ends early, with everything that runs in it."""
        turn = self._agent.turn("turn-2")
        sleeper = turn.dispatch(
            script.call("call_1", "wait_for_news", {}, turn_id="turn-2"), views=ALL_VIEWS
        )
        fatal = Step(
            "a fatal error in the next turn",
            script.call("call_2", "save", {}, turn_id="turn-2"),
            script.is_fatal,
        )
        result = await turn.dispatch(fatal.call, views=ALL_VIEWS)
        self._keep(fatal, result, in_request=False)
        other = await sleeper
        print_call(None, "… and what ran beside it", sleeper.call, other)
        self._check("the rest of the turn is aborted", other.lifecycle == "aborted")

    # --- details ----------------------------------------------------------------------

    def _dispatch(self, step: Step) -> PendingCall:
        return self._turn.dispatch(step.call, views=ALL_VIEWS)

    def _keep(self, step: Step, result: CallResult, *, in_request: bool = True) -> None:
        omitted = self._shell.omitted_bytes.get(step.call.call_id, 0)
        print_call(len(self._steps) + 1, step.title, step.call, result, omitted)
        self._check(f"{step.title} ({flat_name(step.call)})", step.expected(result))
        if in_request:
            self._steps.append((step, result))

    def _check(self, what: str, holds: bool) -> None:
        if not holds:
            self.problems.append(what)
            print(f"   OFF      {what}")


ALL_VIEWS: tuple[View, ...] = ("log", "response_item_json", "hook", "code_mode")


class Exec:
    """Stands for the agent's script engine: its one script calls the shell from a cell."""

    def __init__(self) -> None:
        self.agent: Agent | None = None
        self.nested: tuple[ToolCall, CallResult] | None = None

    async def __call__(self, invocation: Invocation) -> str:
        """The handler: the cell is registered before its first nested call."""
        assert self.agent is not None, "it is connected"
        call = invocation.call
        await self.agent.register_cell("cell-1", call.call_id, call.turn_id)
        arguments = {"command": "wc -c < greeting.txt"}
        nested = script.call("exec-1", "shell", arguments, cell_id="cell-1")
        result = await self.agent.call(nested, views=ALL_VIEWS)
        self.nested = (nested, result)
        assert result.projections is not None, "it was asked for"
        read = json.loads(result.projections.code_mode_json or "{}")
        return f"the script read: {read['output'].strip()}"


def make_repository(folder: Path) -> None:
    """A real git repository with one commit."""
    (folder / "greeting.txt").write_text("hello\n")
    git = ["git", "-c", "user.name=demo", "-c", "user.email=demo@localhost"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Add a greeting"]):
        subprocess.run([*git, *arguments], cwd=folder, check=True)


def installed(name: str) -> str:
    """A program that stands beside this Python."""
    return str(Path(sys.executable).parent / name)


async def play(folder: Path, errors: Path) -> list[str]:
    """Run everything; what was off."""
    shell, execute = Shell(folder), Exec()
    connections: list[str] = []
    never = asyncio.Event()

    async def wait_for_news(invocation: Invocation) -> str:
        await never.wait()
        return ""

    async with contextlib.AsyncExitStack() as stack:
        log = stack.enter_context(errors.open("w"))
        endpoint = await stack.enter_async_context(
            spawn(executable=os.environ.get("SIDECALL_BIN") or installed("sidecall"))
        )
        print(f"sidecar: {endpoint.address}")
        time_tools = await stack.enter_async_context(
            mcp_tools("time", installed("mcp-server-time"), [], log)
        )
        git_tools = await stack.enter_async_context(
            mcp_tools("git", installed("mcp-server-git"), ["--repository", str(folder)], log)
        )
        tools = [
            Tool(
                "shell",
                shell,
                hook_kind="shell",
                cancel_mode="wait_for_teardown",
                teardown_timeout_seconds=5,
            ),
            Tool("apply_patch", Patch(folder), hook_kind="apply_patch", payload_kinds=["custom"]),
            Tool("exec", execute, payload_kinds=["custom"]),
            Tool("save", full_disk, parallel=True),
            Tool("wait_for_news", wait_for_news, parallel=True),
            *time_tools,
            *git_tools,
        ]
        hooks = [
            Hook("pre_tool_use", forbid_deletion, matchers=["Bash"]),
            Hook("post_tool_use", withhold_passwords, matchers=["Bash"]),
        ]
        agent = await stack.enter_async_context(
            connect(
                endpoint,
                tools=tools,
                hooks=hooks,
                options=SessionOptions(mark_external_context=True, display_name="demo"),
                on_connection=connections.append,
            )
        )
        execute.agent = agent
        demo = Demo(agent, shell, execute, connections)
        await demo.play(folder)
        session = await agent.unary.get_session(agent.session_id)
        if not session.external_context_marked:
            demo.problems.append("the session is marked: it has content from outside")
        return demo.problems


def main() -> int:
    """The exit status: 0 when everything came out as it must."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="sidecall-demo-") as temporary:
        folder = Path(temporary) / "repository"
        folder.mkdir()
        make_repository(folder)
        problems = asyncio.run(play(folder, Path(temporary) / "mcp.log"))
    seconds = time.monotonic() - started
    if problems:
        print_paragraph(f"OFF after {seconds:.1f} s: {'; '.join(problems)}")
        return 1
    print_paragraph(
        f"All as it must be, in {seconds:.1f} s. The record says what was attempted, the"
        " lifecycle what happened, the output what the model reads: three facts, never mixed."
    )
    return 0
