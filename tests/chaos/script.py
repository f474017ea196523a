"""Does the steps of a plan on one stream."""

from __future__ import annotations

import asyncio
from typing import Any

from sidecall.v1 import runtime_service_pb2 as runtime_pb
from sidecall.v1 import runtime_stream_pb2 as pb
from sidecall.v1 import session_service_pb2 as session_pb

from tests.chaos.accounts import Accounts, Reference
from tests.chaos.events import Events
from tests.chaos.forge import forge
from tests.chaos.peer import ChaosPeer
from tests.chaos.plan import (
    Again,
    CallPlan,
    Cancel,
    Dispatch,
    Drop,
    EndTurn,
    Forge,
    Ready,
    Stall,
    Step,
    Watch,
)
from tests.chaos.world import MAX_CHUNK_BYTES, World
from tests.runtime_wire import frames

TOGETHER_BYTES = MAX_CHUNK_BYTES // 2
"""Calls of so many argument bytes travel in one message, where they may."""


class Script:
    """One agent's stream, driven step by step."""

    def __init__(self, world: World, accounts: Accounts) -> None:
        self._world = world
        self.accounts = accounts
        self.peer = ChaosPeer(world.channel, accounts, MAX_CHUNK_BYTES)
        self.watchers: list[asyncio.Task[None]] = []
        self._sent: list[CallPlan] = []
        self._cancels = 0
        self._late_ready = False

    async def begin(self, *, reject_result: bool) -> str:
        """Open a session and its first watch; returns the session's id."""
        block = (
            session_pb.POST_HOOK_BLOCK_REJECT_RESULT
            if reject_result
            else session_pb.POST_HOOK_BLOCK_UNSPECIFIED
        )
        options = session_pb.SessionOptions(post_hook_block=block)
        welcome = await self.peer.attach(tools=self._tools(), hooks=_HOOKS, options=options)
        self.session_id = welcome.session_id
        self.events = Events(self.accounts, self._world.sessions, self.session_id)
        began = asyncio.Event()
        self.watchers.append(asyncio.create_task(self.events.watch(began=began)))
        await self._world.in_time(began.wait(), "the first snapshot")
        return self.session_id

    async def do(self, step: Step) -> None:
        """One step."""
        match step:
            case Dispatch():
                await self.dispatch(step)
            case Cancel():
                await self._cancel(step)
            case Drop():
                if not step.take_over:
                    await self.peer.lose()
                    await asyncio.sleep(step.seconds)
                await self.attach()
            case Stall():
                self.peer.reading.clear()
                await asyncio.sleep(step.seconds)
                self.peer.reading.set()
            case Forge():
                self._world.ledger.evil[step.forgery.name] += 1
                number = len(self.accounts.forged)
                await forge(self._world, self.peer, self.accounts, number, step.forgery)
            case EndTurn():
                await self.peer.send(pb.ClientFrame(end_turn=pb.EndTurn(turn_id=step.turn_id)))
                late = frames.call(
                    f"late-{len(self.accounts.forged)}", "share", turn_id=step.turn_id
                )
                self.accounts.forged.add(Reference(late.turn_id, late.call_id))
                self.accounts.forgery(self.peer.next_sequence)
                await self.peer.send(frames.dispatch(late))
            case Ready():
                await self.ready(step.ready)
            case Watch():
                watch = self.events.watch(events=step.events, slow_seconds=step.slow_seconds)
                self.watchers.append(asyncio.create_task(watch))

    async def dispatch(self, step: Dispatch) -> None:
        """Dispatch calls."""
        plans = list(step.calls)
        self._sent += plans
        if step.together and sum(plan.argument_bytes for plan in plans) < TOGETHER_BYTES:
            sequence = self.peer.next_sequence
            for index, plan in enumerate(plans):
                self.accounts.attempted(sequence, index, plan, again=False)
            await self.peer.send(*(self._frame(plan) for plan in plans))
        else:
            for plan in plans:
                await self._dispatch_one(plan, self._frame(plan), again=False)
        for plan in plans:
            if plan.again is Again.SAME:
                await self._dispatch_one(plan, self._frame(plan), again=True)
            elif plan.again is Again.OTHER_PAYLOAD:
                other = self._frame(plan)
                other.dispatch_call.call.payload.tool_search.query = "another"
                await self._dispatch_one(plan, other, again=False)
        self._world.tokens.extend(self.peer.tokens[-2:])

    async def _dispatch_one(self, plan: CallPlan, frame: pb.ClientFrame, *, again: bool) -> None:
        await self.peer.send_large(
            frame,
            lambda sequence: self.accounts.attempted(sequence, 0, plan, again=again),
        )

    async def _cancel(self, step: Cancel) -> None:
        if not self._sent:
            return
        plan = self._sent[max(0, len(self._sent) - 1 - step.back)]
        target: dict[str, Any] = {"turn_id": plan.turn_id}
        if step.of == "call":
            call = frames.reference(plan.call_id, plan.turn_id)
            target = {"calls": pb.CallReferences(calls=[call, frames.reference("nobody's")])}
        elif step.of == "all":
            target = {"all": pb.AllCalls()}
        self._cancels += 1
        if step.by_operator:
            await self._world.in_time(
                self._world.runtime.CancelToolCall(
                    runtime_pb.CancelToolCallRequest(
                        session_id=self.session_id, target=pb.CancelTarget(**target)
                    )
                ),
                "CancelToolCall",
            )
        else:
            await self.peer.send(frames.cancel(self._cancels, **target))

    async def ready(self, ready: bool) -> None:
        """Say whether the late tool can run."""
        self._late_ready = ready
        update = pb.UpdateTools(upsert=[frames.tool("late", not_ready=not ready)])
        await self.peer.send(pb.ClientFrame(update_tools=update))

    async def attach(self) -> None:
        """Come back, with all tools."""
        try:
            await self.peer.attach(tools=self._tools(), hooks=_HOOKS)
        except ConnectionError as error:
            self.accounts.broke("lost", f"it could not come back: {error}")
            raise

    # --- details ----------------------------------------------------------------------

    def _tools(self) -> list[pb.ToolDeclaration]:
        shell = frames.tool(
            "shell",
            cancel_mode=pb.CANCEL_MODE_WAIT_FOR_TEARDOWN,
            teardown_timeout=frames.seconds(0.3),
        )
        return [
            frames.tool("share", supports_parallel_calls=True),
            frames.tool("hooked", supports_parallel_calls=True),
            frames.tool("alone"),
            frames.tool("late", not_ready=not self._late_ready),
            shell,
        ]

    @staticmethod
    def _frame(plan: CallPlan) -> pb.ClientFrame:
        arguments = b'{"n":"' + b"x" * plan.argument_bytes + b'"}'
        call = frames.call(
            plan.call_id,
            plan.tool,
            turn_id=plan.turn_id,
            arguments=arguments,
            custom=plan.custom,
            cell_id=plan.cell_id,
        )
        return frames.dispatch(call, timeout=plan.timeout_seconds)


_HOOKS = [
    frames.hook(pb.HOOK_POINT_PRE_TOOL_USE, "hooked", timeout=0.2),
    frames.hook(pb.HOOK_POINT_POST_TOOL_USE, "hooked", timeout=0.2),
]
