"""What README says is what happens: its commands with their answers, and its program."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
MINIMAL = ROOT / "clients/python/examples/minimal.py"
FOLDER = "/tmp/sidecall-demo"
BIN = Path(sys.executable).parent
ANYTHING = "…"


def blocks(kind: str) -> list[str]:
    """The fenced blocks of a kind."""
    return re.findall(rf"```{kind}\n(.*?)```", README, re.DOTALL)


def commands() -> Iterator[tuple[str, str]]:
    """Each command of the console blocks, and the answer that stands below it."""
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            lines = part.splitlines()
            length = next(
                number for number, line in enumerate(lines, 1) if not _goes_on(lines[:number])
            )
            yield "\n".join(lines[:length]), "\n".join(lines[length:])


def _goes_on(lines: list[str]) -> bool:
    return lines[-1].endswith("\\") or "\n".join(lines).count("'") % 2 == 1


def pattern(answer: str) -> re.Pattern[str]:
    """The answer, with `…` for anything."""
    return re.compile(".*".join(re.escape(part) for part in answer.split(ANYTHING)), re.DOTALL)


def environment() -> dict[str, str]:
    path = f"{BIN}:{ROOT / '.tools/bin'}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "SIDECALL_BIN": str(BIN / "sidecall")}


def test_the_commands_answer_as_readme_says(tmp_path: Path) -> None:
    found = shutil.which("grpcurl", path=environment()["PATH"])
    assert found, "grpcurl is missing: `make .tools/bin/grpcurl` installs it (needs Go)"
    script = ["shopt -s expand_aliases", "exec 2>&1"]
    expected: list[tuple[str, str]] = []
    for command, answer in commands():
        if command.endswith("&"):
            ready = tmp_path / "ready"
            script.append(f"{command[:-1]} > {ready} 2> {tmp_path}/log &")
            script.append(f"until test -s {ready}; do read -t 0.02 <> <(:) || :; done; cat {ready}")
        else:
            script.append(command)
        script.append("echo '=== next'")
        expected.append((command, answer))
    script.append("kill %1; wait")
    folder = str(tmp_path / "s")
    text = "\n".join(script).replace(FOLDER, folder)
    run = subprocess.run(
        ["bash", "-c", text], env=environment(), capture_output=True, text=True, timeout=60
    )
    answers = run.stdout.replace(folder, FOLDER).split("=== next\n")
    assert len(answers) == len(expected) + 1, run.stdout
    for (command, answer), got in zip(expected, answers, strict=False):
        assert pattern(answer.strip()).fullmatch(got.strip()), f"$ {command}\n{got}"


def test_readme_shows_list_describe_and_the_main_rpcs() -> None:
    shown = "\n".join(command for command, _ in commands())
    for word in ("list", "describe", "CreateSession", "ProjectToolOutput"):
        assert word in shown
    assert "AttachExecutedToolCalls" in shown


def test_the_program_in_readme_is_the_example_and_runs() -> None:
    assert MINIMAL.read_text() in blocks("python")
    assert MINIMAL.read_text() in (ROOT / "clients/python/README.md").read_text()
    run = subprocess.run(
        [sys.executable, str(MINIMAL)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == [
        '{"type":"function_call_output","call_id":"call_1","output":"2.5"}',
        '{"type":"function_call_output","call_id":"call_2","output":"cannot divide by zero"}',
        '0 [{"name":"divide","arguments":{"number":10,"by":4}}]',
        '1 [{"name":"divide","arguments":{"number":10,"by":0}}]',
    ]


DOCUMENTS = sorted(
    document
    for pattern in ("*.md", "clients/*.md", "clients/*/*.md", "deploy/**/*.md", "tests/**/*.md")
    for document in ROOT.glob(pattern)
)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text())
    broken = [link for link in links if "://" not in link and not (document.parent / link).exists()]
    assert not broken


def test_the_demo_comes_out_as_it_must() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "demo"],
        cwd=ROOT / "clients/python/examples",
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    assert max(len(line) for line in run.stdout.splitlines()) <= 80
    for view in ("log", "model", "hook", "script", "metric", "lost"):
        assert f"\n   {view}" in run.stdout
