"""A steady load: agents at an even pace, with resumes, cancels, blocks and slow watchers."""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import dataclass, field
from typing import Any, Final

import grpc
import grpc.aio
from sidecall.client import (
    Agent,
    Block,
    Endpoint,
    Function,
    Hook,
    HookInput,
    Invocation,
    PromptOutput,
    RespondToModelError,
    SidecallError,
    Tool,
    ToolCall,
    connect,
)
from sidecall.v1 import session_service_pb2 as session_pb
from sidecall.v1.session_service_pb2_grpc import SessionServiceStub

AGENTS: Final = 8
TURN_SECONDS: Final = 0.25
"""The pace of one agent."""

CALLS_OF_A_TURN: Final = 4
STAY_TURNS: Final = (20, 120)
"""How long one session lives."""

WATCHER_SECONDS: Final = 0.1
"""A slow watcher takes so long for each event."""

SMALL_WINDOW: Final = (
    ("grpc.default_authority", "localhost"),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.http2.bdp_probe", 0),
    ("grpc.http2.lookahead_bytes", 1024),
)
"""For slow watchers: little waits in the transport, so that they soon lose events."""

RESULT_SECONDS: Final = 20.0


@dataclass
class Load:
    """What a load has done so far."""

    address: str
    sessions: Any
    calls: int = 0
    resumes: int = 0
    cancels: int = 0
    events_lost: int = 0
    broke: list[str] = field(default_factory=list)
    stop: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def line(self) -> str:
        """For the progress."""
        return (
            f"calls={self.calls} resumes={self.resumes} cancels={self.cancels}"
            f" events_lost={self.events_lost} broke={len(self.broke)}"
        )


async def run_load(address: str, seconds: float, seed: str, load: Load | None = None) -> Load:
    """Keep the load up for so long; afterwards nobody is connected and no session is left."""
    async with grpc.aio.insecure_channel(address, SMALL_WINDOW) as channel:
        load = load or Load(address, None)
        load.sessions = SessionServiceStub(channel)
        asyncio.get_running_loop().call_later(seconds, load.stop.set)
        await asyncio.gather(
            *(_agent(load, random.Random(f"{seed}/{number}")) for number in range(AGENTS))
        )
        await _delete_all(load)
    return load


async def _agent(load: Load, rng: random.Random) -> None:
    """One session after the other."""
    while not load.stop.is_set():
        await _stay(load, rng, rng.randint(*STAY_TURNS))


async def _stay(load: Load, rng: random.Random, turns: int) -> None:
    connections: list[str] = []
    tools = [
        Tool("share", _handle, parallel=True),
        Tool("alone", _handle),
        Tool("shell", _handle, cancel_mode="wait_for_teardown"),
    ]
    hooks = [Hook("pre_tool_use", _judge, matchers=["alone"])]
    async with connect(
        Endpoint(load.address), tools=tools, hooks=hooks, on_connection=connections.append
    ) as agent:
        watching = asyncio.create_task(_watch_slowly(load, agent.session_id))
        for turn in range(1, turns + 1):
            pace = asyncio.create_task(asyncio.sleep(TURN_SECONDS))
            await _turn(load, agent, rng, turn)
            await pace
            if load.stop.is_set():
                break
    load.resumes += connections.count("resumed")
    if "gap" in connections:
        load.broke.append(f"a gap in {agent.session_id}")
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


async def _turn(load: Load, agent: Agent, rng: random.Random, turn: int) -> None:
    turn_id = f"turn-{turn}"
    calls = [_call(rng, turn_id, number) for number in range(CALLS_OF_A_TURN)]
    pending = [agent.dispatch(call) for call in calls]
    if rng.random() < 0.1:
        agent.drop_connection()
    if rng.random() < 0.2:
        await rng.choice(pending).cancel()
        load.cancels += 1
    for one in pending:
        try:
            async with asyncio.timeout(RESULT_SECONDS):
                await one
            load.calls += 1
        except TimeoutError:
            load.broke.append(f"hung: {one.call}")
        except SidecallError as error:
            load.broke.append(f"refused: {one.call}: {error}")
    outputs = [PromptOutput("function", call.call_id, turn_id) for call in calls]
    attachment = await agent.attach(f"request-{turn}", outputs, turn_id)
    attached = sum(
        len(json.loads(output.executed_tool_calls_json)) for output in attachment.outputs
    )
    if attached != len(calls):
        load.broke.append(f"{attached} records of {len(calls)} calls")
    agent.end_turn(turn_id)


def _call(rng: random.Random, turn_id: str, number: int) -> ToolCall:
    arguments = {
        "seconds": rng.choice((0.0, 0.0, 0.01)),
        "fail": rng.random() < 0.1,
        "padding": "x" * rng.choice((0, 100, 5_000)),
        "answer": rng.choice((10, 1_000, 50_000)),
    }
    name = rng.choice(("share", "share", "alone", "shell", "nobody"))
    return ToolCall(f"call_{number}", name, Function(json.dumps(arguments)), turn_id=turn_id)


async def _handle(invocation: Invocation) -> str:
    arguments: dict[str, Any] = invocation.arguments
    await asyncio.sleep(arguments["seconds"])
    if arguments["fail"]:
        raise RespondToModelError("try again")
    return "x" * int(arguments["answer"])


async def _judge(asked: HookInput) -> Block | None:
    return Block("not this") if asked.call.call_id == "call_3" else None


async def _watch_slowly(load: Load, session_id: str) -> None:
    request = session_pb.WatchSessionRequest(session_id=session_id)
    stream = load.sessions.WatchSession(request)
    try:
        async for event in stream:
            load.events_lost += event.events_lost.count
            await asyncio.sleep(WATCHER_SECONDS)
    except grpc.aio.AioRpcError as error:
        load.broke.append(f"a watch ended with {error.code()}")
    finally:
        stream.cancel()


async def _delete_all(load: Load) -> None:
    """Closed sessions are kept to be read; here nobody will."""
    while True:
        page = await load.sessions.ListSessions(session_pb.ListSessionsRequest(page_size=1000))
        if not page.sessions:
            return
        for session in page.sessions:
            if session.open_calls:
                load.broke.append(f"{session.open_calls} calls of {session.session_id} are open")
            await load.sessions.DeleteSession(
                session_pb.DeleteSessionRequest(session_id=session.session_id)
            )
