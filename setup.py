"""Compiles the server's own work with mypyc where SIDECALL_COMPILE=1; else all stays Python.

`domain`, `runtime` and `wire` are what a call costs beside gRPC. Their modules become C
extensions, but for those whose classes mypyc cannot make (`_interpreted`). Python that is compiled
does the same, faster: the sources are installed beside the extensions and are all there is where
nothing is compiled. `make compiled` and `make wheel` do it; it takes a C compiler and two minutes.
"""

from __future__ import annotations

import ast
import os
import sys
import tempfile
from pathlib import Path

from setuptools import Extension, setup

SERVER = Path("server")
COMPILED_LAYERS = ("domain", "runtime", "wire")
SUBCLASSED = ("observer.py",)
"""Whose classes `app` inherits from: what is not compiled cannot inherit from what is."""
ASKED = os.environ.get("SIDECALL_COMPILE") == "1"
REQUIRED = ["mypy==2.4.1", "msgspec>=0.20,<1"]
"""What compiling takes: mypy has to know what a Struct is."""
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


def _compiles() -> bool:
    """Whether this run builds what is installed, and so takes the time for it.

    Not where metadata, requirements or sources are asked for; an editable installation is never
    compiled, for what is edited would not be what runs.
    """
    return ASKED and "bdist_wheel" in sys.argv


def _extensions(folder: str) -> list[Extension]:
    from mypyc.build import mypycify

    modules = [
        str(module)
        for layer in COMPILED_LAYERS
        for module in sorted((SERVER / "sidecall_server" / layer).glob("*.py"))
        if module.name not in ("__init__.py", *SUBCLASSED) and not _interpreted(module)
    ]
    os.environ.setdefault("MYPYPATH", os.pathsep.join((str(SERVER), "clients/python")))
    extensions: list[Extension] = mypycify(
        [*MYPY_OPTIONS, *modules],
        group_name="sidecall_server",
        debug_level="0",
        target_dir=folder,
    )
    return extensions


if _compiles():
    with tempfile.TemporaryDirectory() as folder:  # what an earlier build left is not installed
        setup(ext_modules=_extensions(folder), options={"build": {"build_base": folder}})
else:
    setup(setup_requires=REQUIRED if ASKED else [])
