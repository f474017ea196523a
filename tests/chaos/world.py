"""What all agents of a run share: the server, its stubs, the ledger, tokens to steal."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import grpc.aio
from sidecall.v1.recorder_service_pb2_grpc import RecorderServiceStub
from sidecall.v1.runtime_service_pb2_grpc import RuntimeServiceStub
from sidecall.v1.session_service_pb2_grpc import SessionServiceStub

from tests.chaos.ledger import Ledger

Answer = TypeVar("Answer")

HEARTBEAT_TIMEOUT_SECONDS: Final = 5.0
RESUME_GRACE_SECONDS: Final = 2.0
MAX_MESSAGE_BYTES: Final = 1 << 20
MAX_CHUNK_BYTES: Final = 1 << 16
MAX_CALLS_IN_FLIGHT: Final = 48

SERVER_FLAGS: Final = (
    "--max-retained-bytes=67108864",  # every ended call is listed at the end
    "--drain-seconds=2",
    "--heartbeat-interval-seconds=1",
    f"--heartbeat-timeout-seconds={HEARTBEAT_TIMEOUT_SECONDS}",
    f"--resume-grace-seconds={RESUME_GRACE_SECONDS}",
    f"--max-message-bytes={MAX_MESSAGE_BYTES}",
    f"--max-chunk-bytes={MAX_CHUNK_BYTES}",
    f"--max-calls-in-flight={MAX_CALLS_IN_FLIGHT}",
    "--max-replay-bytes=400000",
    "--default-hook-timeout-seconds=0.5",
)
"""Short times, so that losses end within a run; small rings, so that there are gaps."""

END_SECONDS: Final = 20.0
"""What is to end by itself has this long, on a machine where everything is busy."""


@dataclass
class World:
    """One run."""

    address: str
    channel: grpc.aio.Channel
    ledger: Ledger
    seed: int
    end_seconds: float = END_SECONDS
    tokens: deque[bytes] = field(default_factory=lambda: deque(maxlen=64))
    """Invocation tokens of other agents."""

    def __post_init__(self) -> None:
        # The stubs serve both worlds; these are of the asyncio one.
        self.sessions: Any = SessionServiceStub(self.channel)
        self.runtime: Any = RuntimeServiceStub(self.channel)
        self.recorder: Any = RecorderServiceStub(self.channel)
        self.stop = asyncio.Event()
        """No new stays."""

    @property
    def loss_seconds(self) -> float:
        """The longest until the session of an agent that fell silent is closed."""
        return HEARTBEAT_TIMEOUT_SECONDS + RESUME_GRACE_SECONDS + self.end_seconds

    async def in_time(self, work: Awaitable[Answer], what: str) -> Answer:
        """Wait for what has to come; what does not is hung."""
        try:
            async with asyncio.timeout(self.end_seconds):
                return await work
        except TimeoutError:
            self.ledger.broke("hung", f"{what} did not come in {self.end_seconds:g} s")
            raise
