"""One stay of an agent: it does what its plan says, settles, is checked, and goes."""

from __future__ import annotations

import asyncio
import contextlib

from sidecall.v1 import call_outcome_pb2 as outcome_pb
from sidecall.v1 import runtime_stream_pb2 as pb

from tests.chaos.accounts import Accounts
from tests.chaos.inspection import POLL_SECONDS, Inspection
from tests.chaos.plan import Again, CallPlan, Dispatch, Leave, Verdict, VisitPlan, Work
from tests.chaos.script import Script
from tests.chaos.world import World
from tests.runtime_wire import frames

STALL_CALLS = 24
STALL_BYTES = 200_000


async def visit(world: World, who: str, plan: VisitPlan) -> None:
    """One session's life, from Hello to its end."""
    accounts = Accounts(world.ledger, who)
    script = Script(world, accounts)
    try:
        session_id = await script.begin(reject_result=plan.reject_result)
        await _Visit(world, plan, script, Inspection(world, accounts, session_id)).run()
    finally:
        await script.peer.close()
        for watcher in script.watchers:
            watcher.cancel()
        await asyncio.gather(*script.watchers, return_exceptions=True)


class _Visit:
    def __init__(
        self, world: World, plan: VisitPlan, script: Script, inspection: Inspection
    ) -> None:
        self._world = world
        self._plan = plan
        self._script = script
        self._inspection = inspection
        self._accounts = script.accounts
        self._peer = script.peer

    async def run(self) -> None:
        """From the first step to the last check."""
        ledger, plan = self._world.ledger, self._plan
        for step, pause in zip(plan.steps, plan.pauses, strict=True):
            ledger.evil[type(step).__name__] += 1
            await self._script.do(step)
            await asyncio.sleep(pause)
        ledger.evil[plan.leave.name] += 1
        if plan.leave in (Leave.LOSE, Leave.STALL):
            await self._fall_silent()
        else:
            await self._settle()
            await self._probe()
            await self._inspection.check_server()
            await self._leave()
        await self._inspection.delete()
        _, late = await asyncio.wait(self._script.watchers, timeout=self._world.end_seconds)
        if late:
            self._accounts.broke("hung", f"{len(late)} watches did not end with their session")
        self._script.events.check()
        ledger.calls += len(self._accounts.accepted)
        ledger.terminals += self._accounts.terminals

    async def _settle(self) -> None:
        """Stop the evil and wait for every terminal frame."""
        if self._peer.end is not None or not self._peer.attached:
            await self._script.attach()
        await self._script.ready(True)
        if self._plan.cancels_at_end:
            await self._peer.send(frames.cancel(0, all=pb.AllCalls()))
        await self._until_nothing_waits()
        for reference in self._accounts.waiting:
            call = await self._inspection.look(reference)
            if call is not None and call.phase != outcome_pb.CALL_PHASE_TERMINAL:
                phase = outcome_pb.CallPhase.Name(call.phase)
                self._accounts.broke(
                    "hung",
                    f"{reference} is still in {phase}: {self._accounts.calls[reference].plan}",
                )
            else:
                self._accounts.broke("lost", f"the terminal frame of {reference} never came")

    async def _until_nothing_waits(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._world.end_seconds):
                while self._accounts.waiting:
                    if self._accounts.gaps:
                        await self._find_refused()
                    if self._peer.end is not None:
                        await self._script.attach()
                    await asyncio.sleep(POLL_SECONDS)

    async def _find_refused(self) -> None:
        """A gap may have taken refusals: a call that the server does not know was refused."""
        for reference in self._accounts.waiting:
            if await self._inspection.look(reference) is None:
                account = self._accounts.calls[reference]
                account.refusals = account.attempts

    async def _probe(self) -> None:
        """Every gate must be free: a call that needs it alone gets through."""
        for number, cell in enumerate(("", "cell-1", "cell-2")):
            await self._script.dispatch(Dispatch([_call(f"probe-{number}", cell_id=cell)], True))
        await self._until_nothing_waits()
        for reference in self._accounts.waiting:
            self._accounts.broke("leaked", f"{reference} did not get through its gate")

    async def _leave(self) -> None:
        if self._plan.leave is Leave.DELETE:
            return
        detach = pb.Detach(close_session=self._plan.leave is Leave.DETACH_AND_CLOSE)
        await self._peer.send(pb.ClientFrame(detach=detach))
        await self._world.in_time(self._peer.ended(), "the end of the stream after Detach")

    async def _fall_silent(self) -> None:
        """Calls are open: the server has to end them and the session (R3)."""
        if self._plan.leave is Leave.STALL:
            self._peer.reading.clear()  # so much stays unread that the server cannot even write
            for number in range(STALL_CALLS):
                call = _call(f"stall-{number}", work=Work.NEVER, argument_bytes=STALL_BYTES)
                await self._script.dispatch(Dispatch([call], together=False))
        self._peer.silence()
        if self._plan.leave is Leave.LOSE:
            await self._peer.lose()
        await self._inspection.lost()
        await self._inspection.take_server_view()


def _call(
    call_id: str, *, cell_id: str = "", work: Work = Work.RETURN, argument_bytes: int = 0
) -> CallPlan:
    return CallPlan(
        call_id=call_id,
        turn_id="probes",
        tool="share" if work is Work.NEVER else "alone",
        work=work,
        verdict=Verdict.PROCEED,
        again=Again.NO,
        custom=False,
        cell_id=cell_id,
        argument_bytes=argument_bytes,
        delay_seconds=0.0,
        timeout_seconds=None,
        tears_down=True,
    )
