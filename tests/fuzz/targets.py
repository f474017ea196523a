"""What is fuzzed with what: a target has its seeds, its inputs and its check."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import hypothesis
from google.protobuf import text_format
from google.protobuf.message import Message
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st
from sidecall.v1 import runtime_stream_pb2 as pb

from tests.fuzz.mutations import mutated_bytes, mutated_message
from tests.fuzz.worlds import REQUESTS, World

SEEDS: Final = Path(__file__).parent / "seeds"
"""Valid messages as text, by target; a name may go on after a dot."""

MAX_ARBITRARY_BYTES: Final = 300
MAX_MUTATIONS: Final = 6


@dataclass(frozen=True)
class Target:
    """One request, frame, or the stream's message."""

    name: str
    seeds: tuple[Message, ...]
    send: Callable[[World, bytes], Awaitable[None]]

    def inputs(self) -> st.SearchStrategy[bytes]:
        """Arbitrary bytes, and seeds that were mutated."""
        mutated = st.builds(
            _mutate,
            st.sampled_from(self.seeds),
            st.randoms(use_true_random=False),
            st.integers(0, MAX_MUTATIONS),
            st.integers(0, 2),
        )
        return st.one_of(mutated, mutated, mutated, st.binary(max_size=MAX_ARBITRARY_BYTES))

    def run(self, data: bytes) -> list[str]:
        """One input against a new world; why it was refused, if it was.

        Raises:
            AssertionError: or whatever else went wrong.
        """
        return asyncio.run(self._run(data))

    async def _run(self, data: bytes) -> list[str]:
        world = await World().begin()
        try:
            await self.send(world, data)
        finally:
            await world.close()
        return world.refusals


def check(target: Target, examples: int, seed: int | None) -> None:
    """Try so many inputs; the first that fails is made small and raised."""

    @hypothesis.settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=seed is None,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    @hypothesis.given(data=target.inputs())
    def holds(data: bytes) -> None:
        target.run(data)

    if seed is not None:
        holds = hypothesis.seed(seed)(holds)
    holds()


def targets() -> list[Target]:
    """Every unary request, every frame, and whole messages of the stream."""
    found = [
        Target(name, _seeds("requests", kind)[name], _request(name))
        for name, kind in sorted(REQUESTS.items())
    ]
    by_kind = _seeds("frames", pb.ClientFrame)
    found += [
        Target(field.name, by_kind[field.name], World.frame)
        for field in pb.ClientFrame.DESCRIPTOR.fields
    ]
    everything = tuple(
        pb.ConnectRequest(sequence=2, frames=[frame])
        for frames in by_kind.values()
        for frame in frames
        if isinstance(frame, pb.ClientFrame)
    )
    found.append(Target("ConnectRequest", everything, World.message))
    return found


def _request(method: str) -> Callable[[World, bytes], Awaitable[None]]:
    return lambda world, data: world.request(method, data)


def _seeds(folder: str, kind: type[Message]) -> dict[str, tuple[Message, ...]]:
    seeds: dict[str, list[Message]] = defaultdict(list)
    for path in sorted((SEEDS / folder).glob("*.txtpb")):
        name = path.name.partition(".")[0]
        if kind is pb.ClientFrame or REQUESTS[name] is kind:
            seeds[name].append(text_format.Parse(path.read_text(), kind()))
    return {name: tuple(messages) for name, messages in seeds.items()}


def _mutate(seed: Message, rng: random.Random, fields: int, bytes_changed: int) -> bytes:
    message = type(seed)()
    message.CopyFrom(seed)
    for _ in range(fields):
        mutated_message(message, rng)
    data = message.SerializeToString()
    for _ in range(bytes_changed):
        data = mutated_bytes(data, rng)
    return data
