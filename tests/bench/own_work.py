"""What a call costs without gRPC and the kernel: bytes in, bytes out, on an event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

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


def own_work(cycle: Cycle, rounds: int) -> tuple[Figure, Figure]:
    """Microseconds a call, of one at a time: one message after the other, and after sleep.

    A process that slept finds the processor's caches and branch predictors cold.
    """
    busy, awoken = [], []
    for _ in range(rounds):
        busy.append(asyncio.run(_round(cycle, lambda: None)))
        awoken.append(asyncio.run(_round(cycle, lambda: time.sleep(SLEEP_SECONDS))))
    return Figure.of(busy, Basis.TIME), Figure.of(awoken, Basis.TIME)


async def _round(cycle: Cycle, pause: Callable[[], None]) -> float:
    limits = RuntimeLimits()
    sessions = Sessions(limits, ProtobufCodec(limits, "bench", SessionOptions()))
    connection = Connection(
        sessions, "", sessions.codec, abandon=lambda: None, gather_turns=GATHER_TURNS
    )
    written: asyncio.Queue[bytes] = asyncio.Queue()
    serving = asyncio.create_task(connection.serve(written.put))

    async def answer(message: bytes) -> bytes:
        connection.put(message)
        return await written.get()

    await answer(hello())
    dispatches, results = Dispatches(cycle.arguments_bytes), Results(cycle.output_bytes)
    seconds = 0.0
    for number in range(CALLS):
        dispatch = seal(2 * number + 1, 2 * number, dispatches.next())
        pause()
        began = time.thread_time()
        invoked = await answer(dispatch)
        seconds += time.thread_time() - began
        ((_, token),) = frames_of(invoked)
        result = seal(2 * number + 2, 2 * number + 1, [results.of(token)])
        pause()
        began = time.thread_time()
        await answer(result)
        seconds += time.thread_time() - began
    connection.hung_up()
    await serving
    connection.closed()
    return seconds / CALLS * 1e6
