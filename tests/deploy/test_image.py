"""The Dockerfile: its steps run in a clean folder, and what they make serves."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.processes import DEADLINE_SECONDS, Processes
from tests.deploy.image import Image, context

USER_ID = 10001


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    """The image, built once; everybody may read it.

    It is not compiled, which takes two minutes; `test_compiled_build` sees that it can be.
    """
    with tempfile.TemporaryDirectory(prefix="sc-image-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield Image.build(folder, COMPILE="0")


@pytest.fixture
def run_folder(image: Image) -> Iterator[Path]:
    """The volume of a new container: empty, its user's."""
    (volume,) = image.root.glob("run/sidecall")
    shutil.rmtree(volume)
    volume.mkdir(0o755)
    if os.geteuid() == 0:
        os.chown(volume, USER_ID, USER_ID)
    yield volume
    shutil.rmtree(volume)
    volume.mkdir(0o755)


def as_its_user() -> list[str]:
    """How to run as the image's user; only root can."""
    if os.geteuid() != 0:
        return []
    return ["setpriv", f"--reuid={USER_ID}", f"--regid={USER_ID}", "--clear-groups"]


def executable(image: Image, command: list[str]) -> tuple[str, ...]:
    found = shutil.which(command[0], path=image.environment()["PATH"])
    assert found is not None
    return (*as_its_user(), found, *command[1:])


def in_container(image: Image, command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        executable(image, command),
        env=image.environment(),
        cwd="/",
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )


def test_the_context_has_the_packages_and_nothing_else() -> None:
    tops = {"/".join(name.split("/")[:2]) for name in context()}

    assert tops == {
        "LICENSE",
        "README.md",
        "pyproject.toml",
        "setup.py",
        "clients/python",
        "server/native_sources.py",
        "server/sidecall_server",
    }


def test_the_image_starts_says_that_it_is_healthy_and_ends_well(
    image: Image, run_folder: Path, processes: Processes
) -> None:
    assert in_container(image, image.health_command).returncode == 2

    server = processes.start(
        command=executable(image, [*image.entrypoint, *image.command]),
        variables=image.environment(),
    )

    assert in_container(image, image.health_command).stdout == "SERVING\n"
    (folder,) = run_folder.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert image.stop_signal == "SIGTERM"
    assert server.signalled(signal.SIGTERM) == 0
    assert not (folder / "sidecall.sock").exists()


def test_it_runs_as_a_user_of_its_own_who_can_write_only_to_the_volume(
    image: Image, run_folder: Path, processes: Processes
) -> None:
    before = _files(image.root)

    server = processes.start(
        command=executable(image, [*image.entrypoint, *image.command]),
        variables=image.environment(),
    )
    assert in_container(image, image.health_command).returncode == 0
    after = _files(image.root)

    assert image.user == f"{USER_ID}:{USER_ID}"
    assert f"--uid {USER_ID}" in image.users
    assert "--shell /usr/sbin/nologin" in image.users
    if os.geteuid() == 0:
        assert Path(f"/proc/{server.process.pid}").stat().st_uid == USER_ID
    assert {name for name in after - before if not name.startswith("run/")} == set()


def test_neither_installer_nor_compiler_nor_sources_are_in_it(image: Image) -> None:
    names = {Path(name).name for name in _files(image.root)}

    assert image.stages == ["builder", "final"]
    assert not any((image.root / "src").glob("*"))
    assert names.isdisjoint({"pip", "pip3", "gcc", "cc", "ensurepip"})
    assert "sidecall" in names


def test_the_version_is_that_of_the_sources(image: Image) -> None:
    from sidecall_server.app.version import VERSION

    assert in_container(image, ["sidecall", "--version"]).stdout == f"sidecall {VERSION}\n"


def _files(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*")}
