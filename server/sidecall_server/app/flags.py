"""The flags of ``sidecall serve`` and ``sidecall config``, made from the settings' fields."""

from __future__ import annotations

import argparse
from typing import Any

from sidecall_server.app.settings import (
    GROUPS,
    Setting,
    Settings,
    flag_name,
    settings_of,
    variable_name,
)


def add_setting_flags(parser: argparse.ArgumentParser) -> None:
    """Add ``--config`` and one flag per setting; a flag that is not given leaves no trace."""
    parser.add_argument(
        "--config",
        metavar="FILE",
        default=None,
        help="TOML file with settings, named as the flags with _ for -  [SIDECALL_CONFIG]",
    )
    for group in GROUPS:
        title, _, _ = (group.__doc__ or "").partition("\n")
        arguments = parser.add_argument_group(title.rstrip("."))
        for setting in settings_of(group):
            arguments.add_argument(flag_name(setting.name), dest=setting.name, **_options(setting))


def given_flags(arguments: argparse.Namespace) -> dict[str, object]:
    """The settings among the parsed arguments, by field name."""
    return {
        name: value for name, value in vars(arguments).items() if name in Settings.__struct_fields__
    }


def _options(setting: Setting) -> dict[str, Any]:
    options: dict[str, Any] = {"default": argparse.SUPPRESS}
    match setting.schema:
        case {"type": "bool"}:
            options["action"] = argparse.BooleanOptionalAction
        case {"type": "literal", "expected": choices}:
            options["choices"] = choices
        case _:
            options["metavar"] = _metavar(setting)
    default = "" if setting.default is None else f" (default: {_shown(setting.default)})"
    help_text = f"{setting.description}{default}  [{variable_name(setting.name)}]"
    return options | {"help": help_text.replace("%", "%%")}


def _metavar(setting: Setting) -> str:
    name = setting.name
    if name.endswith("listen"):
        return "HOST:PORT"
    if name.endswith("endpoint"):
        return "URL"
    if setting.default is None:
        return "NAME" if name == "socket_group" else "FILE"
    units = [word.upper() for word in name.split("_") if word in ("bytes", "seconds")]
    return units[0] if units else "N"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)
