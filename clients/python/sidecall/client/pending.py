"""Calls on their way, and a turn's calls in their order."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from sidecall.client import values
from sidecall.client.errors import SessionLostError

if TYPE_CHECKING:
    from sidecall.client.agent import Agent


class PendingCall:
    """A dispatched call. Await it for its `CallResult`; awaiting it twice is fine.

    Cancelling who awaits it does not cancel the call: `cancel` does, and so does cancelling
    `Agent.call`.
    """

    def __init__(self, agent: Agent, call: values.ToolCall) -> None:
        self._agent = agent
        self.call = call
        self.reference = values.CallReference(call.turn_id, call.call_id)
        self.future: asyncio.Future[values.CallResult] = asyncio.get_running_loop().create_future()

    def __await__(self) -> Generator[Any, None, values.CallResult]:
        return asyncio.shield(self.future).__await__()

    def done(self) -> bool:
        """Whether it has ended, or was refused."""
        return self.future.done()

    async def cancel(self) -> values.CancelDisposition:
        """Cancel the call; never too late. Its result says how far it got.

        Raises:
            SessionLostError: the session is gone.
        """
        result = await self._agent.cancel([self.reference])
        return result[self.reference]


class Turn:
    """The calls of one turn, in the order in which they were dispatched (SPEC G10)."""

    def __init__(self, agent: Agent, turn_id: str) -> None:
        self._agent = agent
        self.turn_id = turn_id
        self.calls: list[PendingCall] = []

    def dispatch(self, call: values.ToolCall, **options: Any) -> PendingCall:
        """As `Agent.dispatch`, and remembered here. The call need not name the turn.

        Raises:
            ValueError: the call names another turn.
        """
        if not call.turn_id:
            call = dataclasses.replace(call, turn_id=self.turn_id)
        if call.turn_id != self.turn_id:
            raise ValueError(f"the call is of turn {call.turn_id!r}, this is {self.turn_id!r}")
        pending = self._agent.dispatch(call, **options)
        if pending not in self.calls:
            self.calls.append(pending)
        return pending

    async def results(self) -> list[values.CallResult]:
        """The results of all calls, in call order, each call once.

        Raises:
            SidecallError: a call was refused, or the session is lost.
        """
        results = [await pending for pending in self.calls]
        return list({result.call: result for result in results}.values())

    async def response_items(self) -> list[str]:
        """The response items (JSON text) of all calls that have one, in call order, each once.

        A call that was refused has none, and neither has a fatal one.

        Raises:
            SessionLostError: the session is gone before all calls have ended.
        """
        items: dict[values.CallReference, str] = {}
        for pending in self.calls:
            await asyncio.wait([pending.future])
            error = pending.future.exception()
            if isinstance(error, SessionLostError):
                raise error
            if error is None:
                projections = pending.future.result().projections
                if projections is not None and projections.response_item_json is not None:
                    items[pending.reference] = projections.response_item_json
        return list(items.values())

    async def cancel(self) -> dict[values.CallReference, values.CancelDisposition]:
        """Cancel all open calls of the turn."""
        return await self._agent.cancel(turn_id=self.turn_id)

    def end(self) -> asyncio.Future[None]:
        """Say that the turn is over, as `Agent.end_turn` does: it takes no new calls."""
        return self._agent.end_turn(self.turn_id)
