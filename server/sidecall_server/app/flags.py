"""The flags of ``sidecall serve`` and ``sidecall config``, made from the settings' fields."""

from __future__ import annotations

import argparse
import types
from typing import Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from sidecall_server.app.settings import GROUPS, flag_name, variable_name


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
        for name, field in group.model_fields.items():
            arguments.add_argument(flag_name(name), dest=name, **_options(name, field))


def given_flags(arguments: argparse.Namespace) -> dict[str, object]:
    """The settings among the parsed arguments, by field name."""
    names = {name for group in GROUPS for name in group.model_fields}
    return {name: value for name, value in vars(arguments).items() if name in names}


def _options(name: str, field: FieldInfo) -> dict[str, Any]:
    options: dict[str, Any] = {"default": argparse.SUPPRESS}
    if field.annotation is bool:
        options["action"] = argparse.BooleanOptionalAction
    elif get_origin(field.annotation) is Literal:
        options["choices"] = get_args(field.annotation)
    else:
        options["metavar"] = _metavar(name, field.annotation)
    default = "" if field.default is None else f" (default: {_shown(field.default)})"
    help_text = f"{field.description}{default}  [{variable_name(name)}]"
    return options | {"help": help_text.replace("%", "%%")}


def _metavar(name: str, annotation: Any) -> str:
    if name.endswith("listen"):
        return "HOST:PORT"
    if name.endswith("endpoint"):
        return "URL"
    kinds = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else ()
    if kinds:
        return "NAME" if name == "socket_group" else "FILE"
    units = [word.upper() for word in name.split("_") if word in ("bytes", "seconds")]
    return units[0] if units else "N"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)
