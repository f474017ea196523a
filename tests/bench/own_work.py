"""What a call costs without gRPC and the kernel: bytes in, bytes out, on an event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from sidecall_server.domain.runtime_limits import RuntimeLimits
from sidecall_server.domain.session_options import SessionOptions
from sidecall_server.rpc.connect import GATHER_TURNS
from sidecall_server.runtime.connection import Connection
from sidecall_server.runtime.sessions import Sessions
from sidecall_server.wire.codec import ProtobufCodec

from tests.bench.cycle import Cycle
from tests.bench.figures import Basis, Figure
from tests.bench.frames import Dispatches, Results, frames_of, hello, seal

CALLS: Final = 400
"""Of one round."""

SLEEP_SECONDS: Final = 0.0002
"""Before each message, in the second figure: about what an agent takes between two of them."""


class OwnWork(NamedTuple):
    """Microseconds a call, of one at a time."""

    busy: Figure
    """One message after the other."""
    awoken: Figure
    """Each message after sleep: caches and branch predictors are cold."""
    answering: Figure
    """Of that, what lies between a message and the writing of its answer."""


class _Spent(NamedTuple):
    whole: float
    answering: float


def own_work(cycle: Cycle, rounds: int) -> OwnWork:
    """What a call costs, busy and after sleep."""
    busy, awoken = list[_Spent](), list[_Spent]()
    for _ in range(rounds):
        busy.append(asyncio.run(_round(cycle, lambda: None)))
        awoken.append(asyncio.run(_round(cycle, lambda: time.sleep(SLEEP_SECONDS))))
    figures = ([one.whole for one in busy], *zip(*awoken, strict=True))
    return OwnWork(*(Figure.of(values, Basis.TIME) for values in figures))


async def _round(cycle: Cycle, pause: Callable[[], None]) -> _Spent:
    limits = RuntimeLimits()
    sessions = Sessions(limits, ProtobufCodec(limits, "bench", SessionOptions()))
    connection = Connection(
        sessions, "", sessions.codec, abandon=lambda: None, gather_turns=GATHER_TURNS
    )
    written: asyncio.Queue[tuple[bytes, float]] = asyncio.Queue()

    async def write(message: bytes) -> None:
        written.put_nowait((message, time.thread_time()))

    serving = asyncio.create_task(connection.serve(write))
    whole = answering = 0.0

    async def answer(message: bytes) -> bytes:
        nonlocal whole, answering
        pause()
        began = time.thread_time()
        connection.put(message)
        answered, written_at = await written.get()
        whole += time.thread_time() - began
        answering += written_at - began
        return answered

    await answer(hello())
    dispatches, results = Dispatches(cycle.arguments_bytes), Results(cycle.output_bytes)
    whole = answering = 0.0
    for number in range(CALLS):
        invoked = await answer(seal(2 * number + 1, 2 * number, dispatches.next()))
        ((_, token),) = frames_of(invoked)
        await answer(seal(2 * number + 2, 2 * number + 1, [results.of(token)]))
    connection.hung_up()
    await serving
    connection.closed()
    return _Spent(whole / CALLS * 1e6, answering / CALLS * 1e6)
