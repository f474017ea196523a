"""``sidecall config``: what ``sidecall serve`` would run with, and where each value comes from."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence

from sidecall_server.app.flags import add_setting_flags, given_flags
from sidecall_server.app.settings import LoadedSettings, SettingsError, load
from sidecall_server.app.sockets import default_socket_path


def run(arguments: Sequence[str]) -> int:
    """Print the settings; exit status 2 when they cannot be used."""
    parser = argparse.ArgumentParser(
        prog="sidecall config",
        allow_abbrev=False,
        usage="sidecall config [--json] [--config FILE] [option of serve ...]",
        description="Show the settings in effect. Takes the flags of `sidecall serve`.",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    add_setting_flags(parser)
    options = parser.parse_args(arguments)
    try:
        loaded = load(given_flags(options), os.environ, options.config)
    except SettingsError as error:
        print(f"sidecall config: {error}", file=sys.stderr)
        return 2
    print(_as_json(loaded) if options.json else _as_table(loaded))
    return 0


def _values(loaded: LoadedSettings) -> dict[str, object]:
    values: dict[str, object] = loaded.settings.model_dump(mode="json")
    if loaded.settings.socket is None and loaded.settings.listen is None:
        values["socket"] = str(default_socket_path(os.environ))
    return values


def _as_json(loaded: LoadedSettings) -> str:
    values = _values(loaded)
    entries = {
        name: {"value": values[name], "source": origin} for name, origin in loaded.origins.items()
    }
    return json.dumps(entries, indent=2, ensure_ascii=False)


def _as_table(loaded: LoadedSettings) -> str:
    values = _values(loaded)
    rows = [(name, _shown(values[name]), origin) for name, origin in loaded.origins.items()]
    name_width = max(len(name) for name, _, _ in rows)
    value_width = max(len(value) for _, value, _ in rows)
    lines = (
        f"{name:<{name_width}}  {value:<{value_width}}  {origin}" for name, value, origin in rows
    )
    return "\n".join(lines)


def _shown(value: object) -> str:
    """As it would stand in a TOML file; a dash where nothing is set."""
    return "-" if value is None else json.dumps(value, ensure_ascii=False)
