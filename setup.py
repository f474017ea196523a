"""Compiles the server's own work with mypyc where SIDECALL_COMPILE=1; else all stays Python.

`domain`, `runtime` and `wire` are what a call costs beside gRPC. Their modules become C
extensions, but for those whose classes mypyc cannot make (`_interpreted`). Python that is compiled
does the same, faster: the sources are installed beside the extensions and are all there is where
nothing is compiled. `make compiled` and `make wheel` do it; it takes a C compiler and about a
minute.
"""

from __future__ import annotations

import ast
import os
from pathlib import Path

from setuptools import Extension, setup

SERVER = Path("server")
COMPILED_LAYERS = ("domain", "runtime", "wire")
SUBCLASSED = ("observer.py",)
"""Whose classes `app` inherits from: what is not compiled cannot inherit from what is."""
MYPY_OPTIONS = ("--config-file=", "--explicit-package-bases", "--ignore-missing-imports")


def _interpreted(module: Path) -> bool:
    """Whether its classes are made by more than their bodies, as mypyc cannot make them.

    msgspec makes classes from keywords (`frozen=True`), `once` sets attributes beside the
    declared ones, and a subclass of str has no fields.
    """
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.ClassDef):
            bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
            if node.name == "once" or node.keywords or bases & {"Struct", "str"}:
                return True
        elif isinstance(node, ast.FunctionDef):
            marks = {mark.id for mark in node.decorator_list if isinstance(mark, ast.Name)}
            if "once" in marks:
                return True
    return False


def _extensions() -> list[Extension]:
    try:
        from mypyc.build import mypycify
    except ImportError:  # asked what it takes to build this: `setup_requires`
        return []

    modules = [
        str(module)
        for layer in COMPILED_LAYERS
        for module in sorted((SERVER / "sidecall_server" / layer).glob("*.py"))
        if module.name not in ("__init__.py", *SUBCLASSED) and not _interpreted(module)
    ]
    os.environ.setdefault("MYPYPATH", os.pathsep.join((str(SERVER), "clients/python")))
    extensions: list[Extension] = mypycify(
        [*MYPY_OPTIONS, *modules], group_name="sidecall_server", debug_level="0"
    )
    return extensions


if os.environ.get("SIDECALL_COMPILE") == "1":
    setup(ext_modules=_extensions(), setup_requires=["mypy==2.4.1"])
else:
    setup()
