"""The unix socket: whose folder it is in, who holds it, who may open it.

grpcio takes a live socket away from another server without a word, and deletes it when it
stops. So a path is claimed first: its folder must be private, a lock beside it is held as
long as the process lives, and only a socket that nobody answers on is removed. The socket's
mode is set before it exists, through the umask.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import grp
import os
import socket
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import quote

MAX_SOCKET_PATH_BYTES: Final = 100
"""Below what every system takes for a socket's path (104 to 108 bytes)."""

PROBE_SECONDS: Final = 1.0
"""How long a socket may take to say whether somebody listens on it."""

_PRIVATE: Final = 0o700
_PRIVATE_WITH_GROUP: Final = 0o710
_OWNER_ONLY_UMASK: Final = 0o177
_GROUP_MODE: Final = 0o660


class SocketError(Exception):
    """The socket cannot be served; the message says what to do."""


class SocketPathTooLong(SocketError):
    """The path does not fit into a socket address."""


class SocketFolderMissing(SocketError):
    """The folder is not there and cannot be made."""


class SocketFolderUnsafe(SocketError):
    """Others could put their own socket in the place of ours."""


class SocketInUse(SocketError):
    """Another server has this path."""


class SocketPathOccupied(SocketError):
    """Something that is not a socket has this path."""


class SocketGroupUnusable(SocketError):
    """The group does not exist, or may not be given to the socket."""


def default_socket_path(environment: Mapping[str, str]) -> Path:
    """``$XDG_RUNTIME_DIR/sidecall/sidecall.sock``, else in this user's folder of the temp dir."""
    runtime_folder = environment.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(runtime_folder):
        return Path(runtime_folder, "sidecall", "sidecall.sock")
    import tempfile  # a server that is told where to listen need not pay for it

    return Path(tempfile.gettempdir(), f"sidecall-{os.geteuid()}", "sidecall.sock")


def unix_address(path: Path) -> str:
    """The gRPC target of a socket; gRPC decodes percent signs, so odd characters are quoted."""
    return "unix://" + quote(str(path))


class UnixSocket:
    """A claimed path: nobody else serves it until it is released.

    Bind inside `binding()`, and `release()` after the server has stopped. The lock file stays:
    removing it would let two servers hold one lock each.
    """

    def __init__(self, path: Path, group_id: int | None, lock: int) -> None:
        self.path = path
        self._group_id = group_id
        self._lock = lock

    @classmethod
    def claim(cls, path: Path, group: str | None = None) -> Self:
        """Check the path and take it; a dead server's socket is removed.

        Raises:
            SocketError: one of the refusals above.
        """
        path = Path(os.path.abspath(path))
        size_bytes = len(os.fsencode(path))
        if size_bytes > MAX_SOCKET_PATH_BYTES:
            raise SocketPathTooLong(
                f"{path}: the path has {size_bytes} bytes, {MAX_SOCKET_PATH_BYTES} at most;"
                " choose a shorter one with --socket"
            )
        group_id = None if group is None else _group_id(group)
        _prepare_folder(path.parent, group_id)
        lock = _lock(path)
        try:
            _clear(path)
        except BaseException:
            os.close(lock)
            raise
        return cls(path, group_id, lock)

    @property
    def address(self) -> str:
        """The gRPC target."""
        return unix_address(self.path)

    @contextlib.contextmanager
    def binding(self) -> Iterator[None]:
        """The time in which the socket is made: 0600 from the start, 0660 with a group.

        Raises:
            SocketGroupUnusable: the group may not be given to the socket.
        """
        before = os.umask(_OWNER_ONLY_UMASK)
        try:
            yield
        finally:
            os.umask(before)
        if self._group_id is not None:
            try:
                os.chown(self.path, -1, self._group_id)
                self.path.chmod(_GROUP_MODE)
            except OSError as error:
                raise SocketGroupUnusable(
                    f"{self.path}: cannot be given to group {self._group_id}: {error.strerror};"
                    " choose a group that you are in"
                ) from None

    def release(self) -> None:
        """Remove the socket and let others have the path."""
        self.path.unlink(missing_ok=True)
        os.close(self._lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()


def _group_id(group: str) -> int:
    try:
        return int(group) if group.isdecimal() else grp.getgrnam(group).gr_gid
    except (KeyError, OverflowError):
        raise SocketGroupUnusable(
            f"there is no group {group!r}; `getent group` lists them"
        ) from None


def _prepare_folder(folder: Path, group_id: int | None) -> None:
    try:
        folder.mkdir(_PRIVATE)
        made = True
    except FileExistsError:
        made = False
    except OSError as error:
        raise SocketFolderMissing(
            f"{folder}: cannot be made: {error.strerror}; make its parent first, or choose"
            " another path with --socket"
        ) from None
    if made and group_id is not None:
        try:
            os.chown(folder, -1, group_id)
            folder.chmod(_PRIVATE_WITH_GROUP)
        except OSError as error:
            folder.rmdir()
            raise SocketGroupUnusable(
                f"{folder}: cannot be given to group {group_id}: {error.strerror};"
                " choose a group that you are in"
            ) from None
    _check_folder(folder, group_id)


def _check_folder(folder: Path, group_id: int | None) -> None:
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise SocketFolderUnsafe(
            f"{folder}: is not a folder (a link to one is not enough); choose another with --socket"
        )
    if found.st_uid != os.geteuid():
        raise SocketFolderUnsafe(
            f"{folder}: belongs to user {found.st_uid}, not to {os.geteuid()} who runs this;"
            " choose a folder of your own with --socket"
        )
    mode = stat.S_IMODE(found.st_mode)
    if group_id is None:
        if mode & 0o077:
            better = folder / "sidecall" / "sidecall.sock"
            raise SocketFolderUnsafe(
                f"{folder}: is open to others (mode {mode:04o}); choose a folder of its own, as in"
                f" --socket {better}, which is made where it is missing"
            )
    elif found.st_gid != group_id or mode & 0o027 or not mode & 0o010:
        raise SocketFolderUnsafe(
            f"{folder}: must let group {group_id} pass and nobody else (mode {mode:04o}, group"
            f" {found.st_gid}); run `chgrp {group_id} {folder} && chmod 0710 {folder}`"
        )


def _lock(path: Path) -> int:
    """Hold the lock beside the socket; it goes when the process does, however it ends."""
    name = f"{path}.lock"
    try:
        lock = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise SocketPathOccupied(
            f"{name}: cannot be opened: {error.strerror}; remove it or choose another path"
            " with --socket"
        ) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(lock, 32).decode("ascii", "replace").strip() or "unknown"
        os.close(lock)
        raise SocketInUse(
            f"{path}: another sidecall (pid {holder}) serves it; stop that one, use it, or choose"
            " another path with --socket"
        ) from None
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    return lock


def _clear(path: Path) -> None:
    """Remove what a dead server left; refuse anything else."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise SocketPathOccupied(
            f"{path}: is there and not a socket; remove it or choose another path with --socket"
        )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(PROBE_SECONDS)
        status = _connect(probe, path)
    if status == errno.ECONNREFUSED:
        path.unlink(missing_ok=True)
    elif status != errno.ENOENT:
        said = "a server answers on it" if status == 0 else os.strerror(status)
        raise SocketInUse(f"{path}: {said}; stop its server or choose another path with --socket")


def _connect(probe: socket.socket, path: Path) -> int:
    try:
        return probe.connect_ex(str(path))
    except TimeoutError:
        return errno.EAGAIN
