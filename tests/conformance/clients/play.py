"""Plays one scenario with one driver and one sidecar."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

import grpc

from tests.conformance.clients.driver import EVENT_SECONDS, Driver, DriverFailed, started
from tests.conformance.clients.expected import Captures, Json, take, unlike
from tests.conformance.clients.network import Network
from tests.conformance.clients.operator import OperatorFailed, operate
from tests.conformance.clients.scenario import Scenario, Step
from tests.conformance.clients.sidecar import Sidecar


class Unlike(Exception):
    """An event is not what it must be."""


FAILURES = (Unlike, DriverFailed, OperatorFailed, TimeoutError, grpc.RpcError, ValueError, KeyError)


async def play(scenario: Scenario, command: Sequence[str], sidecar: Sidecar) -> str | None:
    """Play it; what is wrong, for people, or None."""
    with tempfile.TemporaryDirectory(prefix="sidecall-") as folder:
        network = Network(Path(folder, "n.sock"), sidecar.socket)
        await network.open()
        try:
            async with started(command) as driver:
                return await _failure(scenario, _Play(driver, network, sidecar))
        finally:
            await network.close()


async def _failure(scenario: Scenario, scene: _Play) -> str | None:
    where = "before the first step"
    try:
        for number, step in enumerate(scenario.steps, 1):
            where = f"step {number} ({_named(step)})"
            await scene.step(step)
        where = "after the last step"
        await scene.end()
    except FAILURES as error:
        said = f"{error}" if str(error) else type(error).__name__
        return f"{where}: {said}\n{scene.driver.transcript()}"
    return None


def _named(step: Step) -> str:
    said = step.events[0]["event"] if step.kind == "event" else step.fields.get(step.kind)
    return f"{step.kind}: {said}" if said else step.kind


class _Play:
    """A scenario under way."""

    def __init__(self, driver: Driver, network: Network, sidecar: Sidecar) -> None:
        self.driver = driver
        self._network = network
        self._sidecar = sidecar
        self._captures: Captures = {}
        self._session_id = ""

    async def step(self, step: Step) -> None:
        """Carry one out.

        Raises:
            Unlike: the driver did not do what it must.
        """
        match step.kind:
            case "do":
                await self.driver.send(self._placed(step.fields))
            case "event" | "any_order":
                await self._expect(list(step.events))
            case "network":
                async with asyncio.timeout(EVENT_SECONDS):
                    await self._network.do(step.fields)
            case "operator":
                async with asyncio.timeout(EVENT_SECONDS):
                    await operate(step.fields, self._sidecar, self._session_id)

    async def end(self) -> None:
        """Nothing may be left to say.

        Raises:
            Unlike: something is.
        """
        event = await self.driver.end()
        if event is not None:
            raise Unlike(f"an event too many: {event.get('event')}")

    async def _expect(self, events: list[Json]) -> None:
        while events:
            actual = await self.driver.event()
            if len(events) == 1:
                found = unlike(events.pop(), actual, self._captures)
            else:
                found = take(events, actual, self._captures)
            if found is not None:
                raise Unlike(f"{actual.get('event')}: {found}")
            self._session_id = actual.get("session_id", self._session_id)

    def _placed(self, command: Json) -> Json:
        if command["do"] == "connect":
            return {"endpoint": self._network.endpoint} | command
        return command
