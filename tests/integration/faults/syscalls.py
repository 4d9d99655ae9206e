"""Stand between a process tree and the kernel, and decide each of its points (points.py).

seccomp's user notification holds the calling process before its call is run, so what is
decided here happens at exactly that call and depends on no clock: nothing is preloaded,
compiled or traced. (strace can inject faults too, but counts the calls of each process
apart, and a shell's children make most of them.) Linux 5.6 or newer on x86_64 or aarch64;
man 2 seccomp, man 2 seccomp_unotify.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import io
import os
import platform
import select
import signal
import socket
import stat
import struct
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.integration.faults.points import Act, Call, Decide

# Name: numbers on x86_64 and aarch64 (None: not there), family, where the file is named:
# the argument that holds a path (p) or a descriptor (f), or nothing.
_TABLE: dict[str, tuple[int | None, int | None, str, str]] = {
    "open": (2, None, "open", "p0"), "openat": (257, 56, "open", "p1"),
    "creat": (85, None, "open", "p0"),
    "write": (1, 64, "write", "f0"), "pwrite64": (18, 68, "write", "f0"),
    "writev": (20, 66, "write", "f0"), "sendfile": (40, 71, "write", "f0"),
    "copy_file_range": (326, 285, "write", "f2"), "splice": (275, 76, "write", "f2"),
    "ioctl": (16, 29, "clone", "f0"),
    "truncate": (76, 45, "truncate", "p0"), "ftruncate": (77, 46, "truncate", "f0"),
    "fallocate": (285, 47, "truncate", "f0"),
    "rename": (82, None, "rename", "p1"), "renameat": (264, 38, "rename", "p3"),
    "renameat2": (316, 276, "rename", "p3"),
    "link": (86, None, "link", "p1"), "linkat": (265, 37, "link", "p3"),
    "symlink": (88, None, "symlink", "p1"), "symlinkat": (266, 36, "symlink", "p2"),
    "unlink": (87, None, "unlink", "p0"), "unlinkat": (263, 35, "unlink", "p1"),
    "mkdir": (83, None, "mkdir", "p0"), "mkdirat": (258, 34, "mkdir", "p1"),
    "rmdir": (84, None, "rmdir", "p0"),
    "mknod": (133, None, "mknod", "p0"), "mknodat": (259, 33, "mknod", "p1"),
    "chmod": (90, None, "chmod", "p0"), "fchmod": (91, 52, "chmod", "f0"),
    "fchmodat": (268, 53, "chmod", "p1"), "fchmodat2": (452, 452, "chmod", "p1"),
    "chown": (92, None, "chown", "p0"), "fchown": (93, 55, "chown", "f0"),
    "lchown": (94, None, "chown", "p0"), "fchownat": (260, 54, "chown", "p1"),
    "utime": (132, None, "times", "p0"), "utimes": (235, None, "times", "p0"),
    "futimesat": (261, None, "times", "p1"), "utimensat": (280, 88, "times", "p1"),
    "setxattr": (188, 5, "attribute", "p0"), "lsetxattr": (189, 6, "attribute", "p0"),
    "fsetxattr": (190, 7, "attribute", "f0"), "removexattr": (197, 14, "attribute", "p0"),
    "lremovexattr": (198, 15, "attribute", "p0"), "fremovexattr": (199, 16, "attribute", "f0"),
    "fsync": (74, 82, "sync", "f0"), "fdatasync": (75, 83, "sync", "f0"),
    "sync": (162, 81, "sync", ""), "syncfs": (306, 267, "sync", "f0"),
    "sync_file_range": (277, 84, "sync", "f0"),
}
_MACHINES = {"x86_64": (0, 0xC000003E, 317), "aarch64": (1, 0xC00000B7, 277)}
_COLUMN, _ARCHITECTURE, _SECCOMP = _MACHINES[platform.machine()]
_NAMES = {number: name for name, (*numbers, _, _) in _TABLE.items()
          if (number := numbers[_COLUMN]) is not None}
_MAY_WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_FICLONE = 0x40049409
_AT_REMOVEDIR = 0x200
_PIDFD_GETFD = 438

_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_REQUEST, _RESPONSE = struct.Struct("QIIiIQ6Q"), struct.Struct("QqiI")
_CONTINUE = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class _Request:
    cookie: int
    pid: int
    name: str
    arguments: tuple[int, ...]


class Watched:
    """Runs programs whose points below `root` are decided, one by one. The process that
    uses it must have no other children: it adopts and awaits all that a tree leaves."""

    def __init__(self, root: Path, decide: Decide) -> None:
        self.root, self.decide = str(root.resolve()), decide
        self.calls: list[Call] = []
        self._killed = False
        _LIBC.prctl(36, 1, 0, 0, 0)    # PR_SET_CHILD_SUBREAPER

    def run(
        self, argv: list[str], text: bytes, environment: Mapping[str, str], seconds: float
    ) -> bytes:
        """What the program printed, however it ended. Raises TimeoutError."""
        ours, theirs = socket.socketpair()
        with ours, theirs, _memory(text) as stdin, _memory(b"") as stdout:
            process = subprocess.Popen(
                argv, stdin=stdin, stdout=stdout, env=dict(environment), cwd=self.root,
                start_new_session=True, preexec_fn=lambda: _hold(theirs),
            )
            _, (listener,), _, _ = socket.recv_fds(ours, 1, 1)
            try:
                self._serve(listener, process, time.monotonic() + seconds)
            finally:
                _kill(process)
                os.close(listener)
                process.wait()
                _await_orphans()
            stdout.seek(0)
            return stdout.read()

    def _serve(self, listener: int, process: subprocess.Popen[bytes], until: float) -> None:
        """Until the first process of the tree has ended."""
        ended = os.pidfd_open(process.pid)
        poll = select.poll()
        poll.register(ended, select.POLLIN)
        poll.register(listener, select.POLLIN)
        while True:
            ready = dict(poll.poll(max(0, until - time.monotonic()) * 1000))
            if not ready:
                raise TimeoutError("the tree does not end")
            if ended in ready:
                break
            request = _receive(listener)
            if request is not None:
                self._answer(listener, process, request)
        os.close(ended)

    def _answer(
        self, listener: int, process: subprocess.Popen[bytes], request: _Request
    ) -> None:
        call = None if self._killed else self._point(request)
        act = Act.GO if call is None else self._decided(call)
        if act in (Act.SHORT, Act.TORN):
            done = _write_half(request)
        if act in (Act.KILL, Act.TORN):
            self._killed = True
            _kill(process)
        elif act is Act.SHORT:
            _respond(listener, _RESPONSE.pack(request.cookie, done, 0, 0))
        elif isinstance(act, int):
            _respond(listener, _RESPONSE.pack(request.cookie, 0, -act, 0))
        else:
            _respond(listener, _RESPONSE.pack(request.cookie, 0, 0, _CONTINUE))

    def _decided(self, call: Call) -> Act | int:
        self.calls.append(call)
        return self.decide(call)

    def _point(self, request: _Request) -> Call | None:
        """The call, when it is about something below the root."""
        _, _, family, named = _TABLE[request.name]
        if request.name == "unlinkat" and request.arguments[2] & _AT_REMOVEDIR:
            family = "rmdir"
        path = _named(request, named) if named else ""
        if path.startswith("/") and not path.startswith(self.root):
            return None
        if named.startswith("f") and not path.startswith("/"):
            return None    # a pipe
        size = _size(request) if family == "write" else 0
        return Call(len(self.calls) + 1, request.name, family, path, size)


def _hold(to: socket.socket) -> None:
    """In the child: from here on the calls of the table wait for our answer."""
    program = _filter()
    code = ctypes.create_string_buffer(program)
    head = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    _LIBC.prctl(38, 1, 0, 0, 0)    # PR_SET_NO_NEW_PRIVS
    # SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER
    listener = _LIBC.syscall(_SECCOMP, 1, 8, ctypes.create_string_buffer(head))
    if listener < 0:
        raise OSError(ctypes.get_errno(), "seccomp user notification is not allowed here")
    socket.send_fds(to, [b"."], [listener])


def _filter() -> bytes:
    """The calls of the table are notified; an open only where it may write, an ioctl only
    where it clones. All the rest runs as ever."""
    load, equal, any_bit, leave = 0x20, 0x15, 0x45, 0x06
    notify, allow = (leave, 0, 0, 0x7FC00000), (leave, 0, 0, 0x7FFF0000)
    code = [(load, 0, 0, 4), (equal, 1, 0, _ARCHITECTURE), allow, (load, 0, 0, 0)]
    for number, name in _NAMES.items():
        if name in ("open", "openat"):
            where = 16 + 8 * (1 if name == "open" else 2)
            body = [(load, 0, 0, where), (any_bit, 0, 1, _MAY_WRITE), notify, allow]
        elif name == "ioctl":
            body = [(load, 0, 0, 24), (equal, 0, 1, _FICLONE), notify, allow]
        else:
            body = [notify]
        code += [(equal, 0, len(body), number), *body]
    return b"".join(struct.pack("HBBI", *line) for line in [*code, allow])


def _receive(listener: int) -> _Request | None:
    """The next held call; None when its process is gone."""
    buffer = bytearray(_REQUEST.size)
    try:
        fcntl.ioctl(listener, _RECEIVE, buffer)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.EINTR):
            return None
        raise
    cookie, pid, _, number, _, _, *arguments = _REQUEST.unpack(buffer)
    return _Request(cookie, pid, _NAMES[number], tuple(arguments))


def _respond(listener: int, response: bytes) -> None:
    try:
        fcntl.ioctl(listener, _SEND, bytearray(response))
    except OSError as error:
        if error.errno != errno.ENOENT:    # it died while it waited
            raise


def _named(request: _Request, named: str) -> str:
    """The path in an argument, or behind a descriptor in one; "" when it is gone."""
    value = request.arguments[int(named[1])]
    try:
        if named[0] == "f":
            return str(Path(f"/proc/{request.pid}/fd/{_int(value)}").readlink())
        if value == 0:    # utimensat(FD, NULL)
            return str(Path(f"/proc/{request.pid}/fd/{_int(request.arguments[0])}").readlink())
        return os.fsdecode(_peek(request.pid, value, 4096).partition(b"\0")[0])
    except OSError:
        return ""


def _int(value: int) -> int:
    return value & 0xFFFFFFFF


def _peek(pid: int, address: int, size: int) -> bytes:
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        memory.seek(address)
        return memory.read(size)


def _size(request: _Request) -> int:
    if request.name == "write":
        return request.arguments[2]
    source = {"copy_file_range": 0, "sendfile": 1}.get(request.name)
    if source is None:
        raise NotImplementedError(f"{request.name} to a file")
    with _borrowed(request.pid, request.arguments[source]) as file:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            return 0
        return max(0, status.st_size - os.lseek(file, 0, os.SEEK_CUR))


def _write_half(request: _Request) -> int:
    """Write half of what was asked, through the caller's own descriptors."""
    half = _size(request) // 2
    target = 2 if request.name == "copy_file_range" else 0
    if request.name == "write":
        data = _peek(request.pid, request.arguments[1], half)
    else:
        source = {"copy_file_range": 0, "sendfile": 1}[request.name]
        with _borrowed(request.pid, request.arguments[source]) as file:
            data = os.read(file, half)
    with _borrowed(request.pid, request.arguments[target]) as file:
        return os.write(file, data)


@contextlib.contextmanager
def _borrowed(pid: int, descriptor: int) -> Iterator[int]:
    """The caller's own open file, its offset included."""
    process = os.pidfd_open(pid)
    file = _LIBC.syscall(_PIDFD_GETFD, process, _int(descriptor), 0)
    os.close(process)
    if file < 0:
        raise OSError(ctypes.get_errno(), "pidfd_getfd")
    try:
        yield file
    finally:
        os.close(file)


def _memory(text: bytes) -> io.FileIO:
    """A file of no file system, at its start."""
    file = io.FileIO(os.memfd_create("fault"), "r+")
    file.write(text)
    file.seek(0)
    return file


def _await_orphans() -> None:
    """The rest of a tree: its orphans are ours."""
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Its whole group; it is not waited for yet, so the number is still its own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
