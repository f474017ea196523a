"""Compiles the server's own work with mypyc where SIDECALL_COMPILE=1; else all stays Python.

`domain`, `runtime` and `wire` are what a call costs beside gRPC. Their modules become C
extensions, but for those whose classes mypyc cannot make (`_interpreted`); what it compiles of
values stands in `server/native_sources.py`. Python that is compiled does the same, faster: the
sources are installed beside the extensions and are all there is where nothing is compiled.
`make compiled` and `make wheel` do it; it takes a C compiler and a few minutes.
"""

from __future__ import annotations

import ast
import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

from setuptools import Extension, setup

SERVER = Path("server")
COMPILED_LAYERS = ("domain", "runtime", "wire")
ASKED = os.environ.get("SIDECALL_COMPILE") == "1"
REQUIRED = ["mypy==2.4.1", "msgspec>=0.20,<1"]
"""What compiling takes: mypy has to know what a Struct is."""
MYPY_OPTIONS = ("--config-file=", "--explicit-package-bases", "--ignore-missing-imports")


def _interpreted(source: str) -> bool:
    """Whether mypyc cannot make its classes, though they are written out.

    `once` sets attributes beside the declared ones, a subclass of str has no fields, and those of
    an exception get lost.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef):
            bases = {ast.unparse(base) for base in node.bases}
            has_fields = any(
                getattr(statement, "name", "") == "__init__" for statement in node.body
            )
            if node.name == "once" or "str" in bases or ("Exception" in bases and has_fields):
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

    sys.path.insert(0, str(SERVER.resolve()))
    from native_sources import native

    client = str(Path("clients/python").resolve())
    os.environ["MYPYPATH"] = os.pathsep.join((str(SERVER), client))
    shutil.copytree(SERVER, Path(folder) / SERVER)
    with contextlib.chdir(folder):  # tracebacks name files as the repository does
        modules: list[str] = []
        for layer in COMPILED_LAYERS:
            for module in sorted((SERVER / "sidecall_server" / layer).glob("*.py")):
                source = module.read_text()
                if module.name != "__init__.py" and not _interpreted(source):
                    module.write_text(native(source))
                    modules.append(str(module))
        extensions: list[Extension] = mypycify(
            [*MYPY_OPTIONS, *modules],
            group_name="sidecall_server",
            debug_level="0",
            opt_level="2",
            target_dir=folder,
        )
    return extensions


if _compiles():
    with tempfile.TemporaryDirectory() as folder:  # what an earlier build left is not installed
        setup(ext_modules=_extensions(folder), options={"build": {"build_base": folder}})
else:
    setup(setup_requires=REQUIRED if ASKED else [])
