"""``python -m tests.conformance.clients``: the same scenarios through every client library."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence

from tests.conformance.clients.languages import LANGUAGES, Language
from tests.conformance.clients.runner import run
from tests.conformance.clients.scenario import BadScenario, Scenario, find_scenarios
from tests.conformance.live_server import ServerFailed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suite; returns the exit status: 1 when anything failed, 2 when nothing could run."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.conformance.clients",
        description="Play the same scenarios with the clients of all languages.",
        epilog="The last line is `N passed, M failed`; the exit status is 1 when M > 0.",
    )
    names = [language.name for language in LANGUAGES]
    parser.add_argument(
        "--available", action="store_true", help="leave out languages whose tools are missing"
    )
    parser.add_argument(
        "--language", action="append", choices=names, metavar="L", help=f"of {', '.join(names)}"
    )
    parser.add_argument("--scenario", action="append", metavar="NAME", help="a file's name")
    chosen = parser.parse_args(arguments)
    languages = [one for one in LANGUAGES if one.name in (chosen.language or names)]
    missing = [one for one in languages if not one.available]
    if missing and not chosen.available:
        parser.error("; ".join(f"{one.name} is missing, get {one.get}" for one in missing))
    try:
        scenarios = _chosen(find_scenarios(), chosen.scenario)
        status = _run([one for one in languages if one.available], scenarios)
    except (BadScenario, ServerFailed) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    return status


def _chosen(scenarios: list[Scenario], names: list[str] | None) -> list[Scenario]:
    if names is None:
        return scenarios
    known = {scenario.name: scenario for scenario in scenarios}
    for name in names:
        if name not in known:
            raise BadScenario(f"there is no scenario {name!r}")
    return [known[name] for name in names]


def _run(languages: list[Language], scenarios: list[Scenario]) -> int:
    results = asyncio.run(run(languages, scenarios, print))
    print(results.table())
    for language in LANGUAGES:
        if not language.available:
            print(f"SKIPPED: {language.name}. To test it, get {language.get}")
    print(results)
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())
