"""Plays all scenarios with the drivers of all languages, side by side."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.conformance.clients.languages import BuildFailed, Language
from tests.conformance.clients.play import play
from tests.conformance.clients.scenario import Scenario
from tests.conformance.clients.sidecar import Sidecar, serving

PASSED, FAILED = "passed", "FAILED"


@dataclass
class Results:
    """What came of each scenario in each language."""

    languages: Sequence[str]
    scenarios: Sequence[str]
    failed: set[tuple[str, str]] = field(default_factory=set)

    @property
    def total(self) -> int:
        return len(self.languages) * len(self.scenarios)

    def table(self) -> str:
        """Scenarios down, languages across."""
        first = max(len(name) for name in (*self.scenarios, "scenario"))
        rows = [f"{'scenario':{first}}  " + "  ".join(f"{name:10}" for name in self.languages)]
        for scenario in self.scenarios:
            said = [
                FAILED if (language, scenario) in self.failed else PASSED
                for language in self.languages
            ]
            rows.append(f"{scenario:{first}}  " + "  ".join(f"{word:10}" for word in said))
        return "\n".join(row.rstrip() for row in rows)

    def __str__(self) -> str:
        return f"{self.total - len(self.failed)} passed, {len(self.failed)} failed"


async def run(
    languages: Sequence[Language], scenarios: Sequence[Scenario], report: Callable[[str], None]
) -> Results:
    """Play every scenario in every language; reports each failure.

    Raises:
        ServerFailed: there is no sidecar to ask.
    """
    results = Results([one.name for one in languages], [one.name for one in scenarios])
    await asyncio.gather(*(_run(one, scenarios, results, report) for one in languages))
    return results


async def _run(
    language: Language,
    scenarios: Sequence[Scenario],
    results: Results,
    report: Callable[[str], None],
) -> None:
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sidecall-")))
        try:
            command = await asyncio.to_thread(language.build, folder)
        except BuildFailed as error:
            report(f"FAILED {language.name}: no driver: {error}")
            results.failed.update((language.name, one.name) for one in scenarios)
            return
        sidecars: dict[tuple[str, ...], Sidecar] = {}
        for scenario in scenarios:
            if scenario.sidecar not in sidecars:
                sidecar = await stack.enter_async_context(serving(scenario.sidecar))
                sidecars[scenario.sidecar] = sidecar
            failure = await play(scenario, command, sidecars[scenario.sidecar])
            if failure is not None:
                results.failed.add((language.name, scenario.name))
                report(f"FAILED {language.name} {scenario.name}: {failure}")
