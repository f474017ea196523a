"""The unix socket, with real processes (DESIGN §3, Listen)."""

from __future__ import annotations

import os
import signal
import socket
import stat
from pathlib import Path

import pytest
from sidecall_server.app.sockets import MAX_SOCKET_PATH_BYTES

from tests.app.processes import BELL_COMMAND, Processes, finished, refused

OTHER_ID = 54_321


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def some_other_group() -> int:
    """A group that this user may give files to, and not the one new files get, if there is one."""
    return OTHER_ID if os.geteuid() == 0 else max(os.getgroups())


def folder_of_another(folder: Path) -> Path:
    if os.geteuid() != 0:
        return Path("/usr")
    os.chown(folder, OTHER_ID, -1)
    return folder


def test_a_second_server_on_one_path_is_refused_and_the_first_serves_on(
    folder: Path, processes: Processes
) -> None:
    path = folder / "a.sock"
    first = processes.start("--socket", str(path))

    said = refused("--socket", str(path))

    assert f"pid {first.process.pid}" in said
    assert first.serves()


def test_the_socket_of_a_killed_server_is_taken_over(folder: Path, processes: Processes) -> None:
    path = folder / "a.sock"
    processes.start("--socket", str(path)).signalled(signal.SIGKILL)
    assert path.is_socket()

    assert processes.start("--socket", str(path)).serves()


def test_a_live_socket_of_another_program_is_not_stolen(folder: Path) -> None:
    path = folder / "a.sock"
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as client:
        listener.bind(str(path))
        listener.listen()

        assert "a server answers" in refused("--socket", str(path))

        client.connect(str(path))


def test_a_regular_file_in_the_way_is_refused_and_kept(folder: Path) -> None:
    path = folder / "a.sock"
    path.write_text("mine")

    assert "not a socket" in refused("--socket", str(path))
    assert path.read_text() == "mine"


def test_a_link_in_the_way_is_refused(folder: Path) -> None:
    path = folder / "a.sock"
    path.symlink_to(folder / "elsewhere.sock")

    assert "not a socket" in refused("--socket", str(path))


def test_a_path_of_one_byte_too_many_is_refused(folder: Path) -> None:
    path = str(folder / "s").ljust(MAX_SOCKET_PATH_BYTES + 1, "s")

    assert f"{MAX_SOCKET_PATH_BYTES + 1} bytes" in refused("--socket", path)


def test_a_path_of_the_most_bytes_allowed_serves(folder: Path, processes: Processes) -> None:
    path = str(folder / "s").ljust(MAX_SOCKET_PATH_BYTES, "s")

    assert processes.start("--socket", path).serves()


@pytest.mark.parametrize("open_mode", [0o755, 0o770, 0o701, 0o722])
def test_a_folder_open_to_others_is_refused(folder: Path, open_mode: int) -> None:
    folder.chmod(open_mode)

    better = folder / "sidecall" / "sidecall.sock"
    assert f"--socket {better}," in refused("--socket", str(folder / "a.sock"))


def test_a_folder_of_another_user_is_refused(folder: Path) -> None:
    path = folder_of_another(folder) / "a.sock"

    assert "belongs to user" in refused("--socket", str(path))


def test_a_link_to_a_folder_is_refused(folder: Path) -> None:
    (folder / "real").mkdir(0o700)
    (folder / "link").symlink_to(folder / "real")

    assert "a link to one is not enough" in refused("--socket", str(folder / "link" / "a.sock"))


def test_a_folder_whose_parent_is_missing_is_refused(folder: Path) -> None:
    assert "make its parent first" in refused("--socket", str(folder / "x" / "y" / "a.sock"))


def test_the_socket_and_its_folder_are_private_whatever_the_umask(
    folder: Path, processes: Processes
) -> None:
    path = folder / "new" / "a.sock"

    processes.start("--socket", str(path), umask=0)

    assert (mode(path), mode(path.parent)) == (0o600, 0o700)


def test_a_group_may_use_the_socket_when_told(folder: Path, processes: Processes) -> None:
    path = folder / "new" / "a.sock"
    group = some_other_group()

    processes.start("--socket", str(path), "--socket-group", str(group), umask=0)

    assert (mode(path), path.stat().st_gid) == (0o660, group)
    assert (mode(path.parent), path.parent.stat().st_gid) == (0o710, group)


def test_a_group_that_cannot_reach_the_socket_is_refused(folder: Path) -> None:
    said = refused("--socket", str(folder / "a.sock"), "--socket-group", str(some_other_group()))

    assert "chmod 0710" in said


def test_an_unknown_group_is_refused(folder: Path) -> None:
    said = refused("--socket", str(folder / "a.sock"), "--socket-group", "no-such-group")

    assert "there is no group 'no-such-group'" in said


def test_odd_characters_in_a_path_reach_the_same_socket(folder: Path, processes: Processes) -> None:
    path = folder / "a%41 b?#.sock"

    server = processes.start("--socket", str(path))

    assert path.is_socket()
    assert server.serves()


def test_the_default_path_is_in_the_runtime_folder(folder: Path, processes: Processes) -> None:
    server = processes.start(variables={"XDG_RUNTIME_DIR": str(folder)})

    assert server.address == f"unix://{folder}/sidecall/sidecall.sock"


def test_without_a_runtime_folder_the_default_is_private_in_the_temporary_folder(
    folder: Path, processes: Processes
) -> None:
    server = processes.start(variables={"TMPDIR": str(folder)})

    private = folder / f"sidecall-{os.geteuid()}"
    assert server.address == f"unix://{private}/sidecall.sock"
    assert mode(private) == 0o700


def test_a_stopped_server_leaves_the_path_to_the_next(folder: Path, processes: Processes) -> None:
    path = folder / "a.sock"
    assert processes.start("--socket", str(path)).signalled(signal.SIGTERM) == 0
    assert not path.exists()

    assert processes.start("--socket", str(path)).serves()


def test_a_refused_server_does_not_touch_the_socket_of_a_running_one(
    folder: Path, processes: Processes
) -> None:
    path = folder / "a.sock"
    processes.start("--socket", str(path))
    before = path.stat().st_ino

    finished(*BELL_COMMAND, "--socket", str(path))

    assert path.stat().st_ino == before
