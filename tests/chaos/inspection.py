"""One session as its server sees it, held against the agent's accounts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import grpc
import grpc.aio
from sidecall.v1 import call_outcome_pb2 as outcome_pb
from sidecall.v1 import recorder_service_pb2 as recorder_pb
from sidecall.v1 import runtime_service_pb2 as runtime_pb
from sidecall.v1 import session_service_pb2 as session_pb
from sidecall.v1 import tool_call_pb2 as call_pb

from tests.chaos.accounts import Accounts, Reference
from tests.chaos.world import World
from tests.runtime_wire import frames

POLL_SECONDS = 0.1


class Inspection:
    """Looks at one session by unary rpcs."""

    def __init__(self, world: World, accounts: Accounts, session_id: str) -> None:
        self._world = world
        self._accounts = accounts
        self._id = session_id

    async def lost(self) -> None:
        """The agent fell silent: the server has to close the session by itself."""
        deadline = asyncio.get_running_loop().time() + self._world.loss_seconds
        request = session_pb.GetSessionRequest(session_id=self._id)
        while True:
            session = (await self._rpc(self._world.sessions.GetSession(request))).session
            if session.state == session_pb.SESSION_STATE_CLOSED:
                break
            if asyncio.get_running_loop().time() > deadline:
                state = session_pb.SessionState.Name(session.state)
                self._accounts.broke(
                    "hung",
                    f"{self._world.loss_seconds:g} s after its agent fell silent the session is"
                    f" {state} with {session.open_calls} open calls",
                )
                break
            await asyncio.sleep(POLL_SECONDS)

    async def check_server(self) -> None:
        """The server's own view, and its records, against the accounts."""
        request = session_pb.GetSessionRequest(session_id=self._id)
        session = (await self._rpc(self._world.sessions.GetSession(request))).session
        accepted = self._accounts.accepted
        if session.open_calls:
            self._accounts.broke("leaked", f"{session.open_calls} calls are open at the end")
        if session.terminal_calls != len(accepted):
            self._accounts.broke(
                "lost", f"{len(accepted)} accepted, {session.terminal_calls} ended"
            )
        listed = await self._list()
        for reference in self._accounts.never & set(listed):
            self._accounts.broke("broken", f"{reference} was refused, and is listed")
        for reference in set(accepted) - set(listed):
            self._accounts.broke("lost", f"{reference} was accepted, and is not listed")
        await self._check_records(session, accepted)

    async def _check_records(self, session: session_pb.Session, accepted: list[Reference]) -> None:
        """Every accepted call has a record in the next prompt (R2), counted or whole (S4)."""
        calls = {reference: self._accounts.calls[reference].plan for reference in accepted}
        direct = [reference for reference, plan in calls.items() if not plan.cell_id]
        cells = {plan.cell_id for plan in calls.values()} - {""}
        for number, cell in enumerate(sorted(cells)):
            output = recorder_pb.RegisterCellRequest(
                session_id=self._id,
                cell_id=cell,
                output_call_id=f"cell-output-{number}",
                turn_id="cells",
            )
            await self._rpc(self._world.recorder.RegisterCell(output))
        names = [Reference("cells", f"cell-output-{number}") for number in range(len(cells))]
        outputs = [
            recorder_pb.PromptOutput(
                kind=call_pb.PAYLOAD_KIND_FUNCTION,
                call_id=reference.call_id,
                turn_id=reference.turn_id,
                item_id=f"{reference.turn_id}/{reference.call_id}",
            )
            for reference in [*direct, *names]
        ]
        request = recorder_pb.AttachExecutedToolCallsRequest(
            session_id=self._id, sampling_request_id="last", outputs=outputs
        )
        attached = await self._rpc(self._world.recorder.AttachExecutedToolCalls(request))
        represented = sum(
            1 + call.truncated.omitted_calls for item in attached.outputs for call in item.calls
        )
        losses = session.recorder_losses
        dropped = losses.direct_dropped + losses.nested_dropped + losses.cell_refused
        if represented + dropped != len(accepted):
            self._accounts.broke(
                "lost", f"{len(accepted)} accepted, {represented} records, {dropped} lost"
            )
        sizes = attached.recorder_sizes
        if sizes.direct_calls or sizes.cells or sizes.output_cells or sizes.pending_nested_calls:
            self._accounts.broke("leaked", f"the recorder still holds {sizes}")

    async def take_server_view(self) -> None:
        """Nobody read the terminal frames: the server's list stands for them."""
        listed = await self._list()
        for reference, account in self._accounts.calls.items():
            if account.terminal is None and reference not in listed:
                account.refusals = account.attempts
            elif account.terminal is None and listed[reference].HasField("outcome"):
                account.terminal = listed[reference].outcome.SerializeToString()
            elif account.terminal is None:
                self._accounts.broke("hung", f"{reference} is open, and its agent is gone")

    async def check_orphans(self) -> None:
        """Nobody counted these calls but the server: each it took has its outcome."""
        for reference, call in (await self._list()).items():
            self._accounts.ledger.calls += 1
            if call.HasField("outcome"):
                self._accounts.ledger.terminals += 1
            else:
                self._accounts.broke("hung", f"{reference} is open, and its agent was killed")

    async def delete(self) -> None:
        """Delete the session."""
        request = session_pb.DeleteSessionRequest(session_id=self._id)
        await self._rpc(self._world.sessions.DeleteSession(request))

    async def _list(self) -> dict[Reference, outcome_pb.ToolCallStatus]:
        listed: dict[Reference, outcome_pb.ToolCallStatus] = {}
        token = ""
        while True:
            page = await self._rpc(
                self._world.runtime.ListToolCalls(
                    runtime_pb.ListToolCallsRequest(
                        session_id=self._id, page_size=37, page_token=token
                    )
                )
            )
            for shown in page.calls:
                call = shown.call.call
                listed[Reference(call.turn_id, call.call_id)] = shown.call
            token = page.next_page_token
            if not token:
                return listed

    async def look(self, reference: Reference) -> outcome_pb.ToolCallStatus | None:
        """A call as the server sees it; None: it knows none."""
        request = runtime_pb.GetToolCallRequest(
            session_id=self._id, call=frames.reference(reference.call_id, reference.turn_id)
        )
        try:
            found = await self._rpc(self._world.runtime.GetToolCall(request))
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.NOT_FOUND:
                return None
            raise
        status: outcome_pb.ToolCallStatus = found.call
        return status

    async def _rpc(self, call: Awaitable[Any]) -> Any:
        return await self._world.in_time(call, "a unary rpc")
