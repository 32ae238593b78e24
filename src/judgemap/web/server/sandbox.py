"""The sandbox for a process that opens an uploaded file: little memory, little time, no network, no other files.

A reader calls `confine` before it looks at the file. Linux then refuses it sockets and new programs (seccomp), and all
files except Python's own and those in the reader's folder (Landlock). Neither needs root, another user or a namespace,
so both work in containers and under systemd, where ``unshare`` is often forbidden.

    python -m judgemap.web.server.sandbox       prints which walls this machine lacks, one per line
"""

import ctypes
import os
import platform
import resource
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

NICENESS = 5
"""Judges are served before files are read."""
NEWS = "news "
"""How a line with a reader's progress begins."""
WALLS = {"seccomp": "no network and no other programs", "Landlock": "no files but its own"}

NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER = 38, 22, 2
ALLOW, REFUSE, NOT_THERE = 0x7FFF0000, 0x00050001, 0x00050026  # the last two with EPERM and ENOSYS
LOAD, IF_EQUAL, IF_AT_LEAST, IF_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, MACHINE, FIRST_ARGUMENT = 0, 4, 16
"""The offsets at which a filter finds the system call, the machine, and the call's first argument."""
IS_THREAD = 0x00010000
CLONE3 = 435

# pidfd_send_signal, io_uring_setup, pidfd_open, pidfd_getfd, process_madvise, process_mrelease: numbers from 424 on are
# the same everywhere.
EVERYWHERE = (424, 425, 434, 438, 440, 448)
# socket, execve, execveat, ptrace, process_vm_readv, process_vm_writev, kill, unshare, setns, mount, bpf, keyctl,
# add_key, request_key, perf_event_open, userfaultfd, open_by_handle_at; then those that reach other processes of the
# same user: tkill, rt_sigqueueinfo, rt_tgsigqueueinfo, setpriority, sched_setparam, sched_setscheduler,
# sched_setaffinity, sched_setattr, ioprio_set, migrate_pages, move_pages, kcmp; and fork and vfork, where they exist.
MACHINES: dict[str, tuple[int, int, int, int, tuple[int, ...]]] = {
    "x86_64": (
        0xC000003E, 56, 234, 302,
        (41, 59, 322, 101, 310, 311, 62, 272, 308, 165, 321, 250, 248, 249, 298, 323, 304,
         200, 129, 297, 141, 142, 144, 203, 314, 251, 256, 279, 312, 57, 58),
    ),
    "aarch64": (
        0xC00000B7, 220, 131, 261,
        (198, 221, 281, 117, 270, 271, 129, 97, 268, 40, 280, 219, 217, 218, 241, 282, 265,
         130, 138, 240, 140, 118, 119, 122, 274, 30, 238, 239, 272),
    ),
}  # fmt: skip
"""For each machine: its code; the numbers of ``clone``, ``tgkill`` and ``prlimit64``, which depend on their first
argument; and those of the calls that a reader does not need."""

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
EXECUTE, WRITE_FILE, READ_FILE, READ_FOLDER, TRUNCATE = 1, 2, 4, 8, 1 << 14
ALL_OF_ABI_1 = (1 << 13) - 1
IN_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE
"""The rights that apply to files that are not folders."""
SYSTEM = (
    "/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime", "/proc/self", "/proc/cpuinfo", "/proc/meminfo",
    "/sys/devices/system/cpu", "/dev/urandom", "/dev/null",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Limits:
    """What a reader may use up, in bytes and in seconds of processor time."""

    memory: int = 1 << 30
    """Memory it may fill; ``addresses``, its address space, is larger, because libraries map more than they use."""
    addresses: int = 4 << 30
    seconds: int = 60
    longest_file: int = 1 << 20


class _Instruction(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("k", ctypes.c_uint32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.POINTER(_Instruction)))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def confine(folder: Path, limits: Limits = Limits(), file: Path | None = None) -> list[str]:  # noqa: B008 - frozen
    """Put up the walls around this process, for good, and return the names of those that the system lacks.

    The process can then read Python and its libraries, read and write in ``folder``, and read ``file``, wherever it is.
    """
    kinds = {
        resource.RLIMIT_DATA: limits.memory,
        resource.RLIMIT_AS: limits.addresses,
        resource.RLIMIT_CPU: limits.seconds,
        resource.RLIMIT_FSIZE: limits.longest_file,
        resource.RLIMIT_CORE: 0,
    }
    for kind, limit in kinds.items():
        resource.setrlimit(kind, (limit, limit))
    os.nice(NICENESS)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")  # if memory runs out, a reader ends, not the server
    walls: dict[str, Callable[[], None]] = {"Landlock": lambda: _keep_to(folder, file), "seccomp": _refuse_calls}
    missing = []
    for name, put_up in walls.items():
        try:
            put_up()
        except OSError:
            missing.append(name)
    return missing


def tell(share: float, doing: str) -> None:
    """Report this reader's progress to `readers.run_reader`."""
    sys.stderr.write(f"{NEWS}{share:.2f} {doing}\n")
    sys.stderr.flush()


def out_of_memory(error: Exception) -> bool:
    """Say whether a reader reached its memory limit: Python has an exception for it, GEOS only a message."""
    return isinstance(error, MemoryError) or "bad_alloc" in str(error)


@cache
def missing_walls() -> list[str]:
    """Find out, in a separate process, which walls this machine lacks."""
    command = [sys.executable, "-m", "judgemap.web.server.sandbox"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.split()


def _linux() -> ctypes.CDLL:
    if sys.platform != "linux":
        raise OSError("only Linux has this")
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), "the kernel refused")
    return result


def _refuse_calls() -> None:
    """Make the kernel refuse sockets, other programs and processes, and anything that could reach into them."""
    linux = _linux()
    if platform.machine() not in MACHINES:
        raise OSError("this machine's system call numbers are unknown")
    mark, clone, tgkill, prlimit, refused = MACHINES[platform.machine()]
    program = [
        (LOAD, 0, 0, MACHINE),
        (IF_EQUAL, 1, 0, mark),
        (RETURN, 0, 0, REFUSE),
        (LOAD, 0, 0, NUMBER),
        (IF_AT_LEAST, 0, 1, 0x40000000),  # the x32 interface: the same calls under other numbers
        (RETURN, 0, 0, REFUSE),
        (IF_EQUAL, 0, 1, CLONE3),  # a filter cannot see its flags; without it, the C library uses clone
        (RETURN, 0, 0, NOT_THERE),
    ]
    for number in (*refused, *EVERYWHERE):
        program += [(IF_EQUAL, 0, 1, number), (RETURN, 0, 0, REFUSE)]
    # A reader may start threads, and end and limit itself.
    for number, test, value in (
        (clone, IF_ANY_BIT, IS_THREAD),
        (tgkill, IF_EQUAL, os.getpid()),
        (prlimit, IF_EQUAL, 0),
    ):
        allowed = [(LOAD, 0, 0, FIRST_ARGUMENT), (test, 1, 0, value), (RETURN, 0, 0, REFUSE), (RETURN, 0, 0, ALLOW)]
        program += [(IF_EQUAL, 0, len(allowed), number), *allowed]
    program.append((RETURN, 0, 0, ALLOW))
    instructions = (_Instruction * len(program))(*(_Instruction(*each) for each in program))
    _check(linux.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _check(linux.prctl(SET_SECCOMP, FILTER, ctypes.byref(_Program(len(program), instructions)), 0, 0))


def _keep_to(folder: Path, file: Path | None) -> None:
    """Make the kernel refuse all files except Python's own, those in the folder, and the one to read."""
    linux = _linux()
    version = _check(linux.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1))
    handled = ctypes.c_uint64(ALL_OF_ABI_1 | (TRUNCATE if version >= 3 else 0))
    rules = _check(linux.syscall(CREATE_RULESET, ctypes.byref(handled), ctypes.c_size_t(8), 0))
    try:
        _check(linux.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0))
        own = [sys.prefix, sys.base_prefix, *filter(None, sys.path)]
        for path in {*SYSTEM, *own, *([] if file is None else [str(file)])}:
            _allow(linux, rules, Path(path), READ_FILE | READ_FOLDER)
        _allow(linux, rules, folder, handled.value & ~EXECUTE)
        _check(linux.syscall(RESTRICT_SELF, rules, 0))
    finally:
        os.close(rules)


def _allow(linux: ctypes.CDLL, rules: int, path: Path, what: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rule = _Beneath(what if path.is_dir() else what & IN_FILES, opened)
        _check(linux.syscall(ADD_RULE, rules, 1, ctypes.byref(rule), 0))
    finally:
        os.close(opened)


if __name__ == "__main__":
    for name in confine(Path("/nonexistent")):
        sys.stdout.write(f"{name}\n")
