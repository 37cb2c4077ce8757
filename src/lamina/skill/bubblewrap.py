"""Scripts in a bubblewrap sandbox.

A script finds the programs of /usr, read only; an empty work folder of bounded size, which is gone afterwards; its own
processes and nobody else's; no network, no environment, no user but nobody, no capability, and no way to make
namespaces of its own. Everything it starts ends with it. Where bubblewrap cannot build that, nothing runs.

A process that is root starts it under an unused user id, because the kernel does not count the processes of root.
"""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path

import anyio
from anyio.abc import Process

from lamina.errors import ConfigurationError
from lamina.skill.sandbox import SHELL, Limits, ScriptRequest, ScriptResult, environment_of, finish, held

_PROBE = Limits(seconds=10, memory_bytes=256 * 2**20, work_bytes=2**20, processes=16, output_bytes=65_536)
_PATIENCE_S = 10.0
_NOBODY = "65534"
_FREE_USERS = range(1_500_000_000, 1_500_065_536)
_SYSTEM = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")
# Links and tables that programs of /usr need to start; nothing in them is about this machine or its users.
_NEEDED = ("/etc/alternatives", "/etc/ld.so.cache")


class BubblewrapSandbox:
    """Runs scripts through `bwrap`, found in PATH or beside the Python that runs."""

    def __init__(self, program: str | None = None) -> None:
        self._program = program
        self._works = False

    async def require(self) -> None:
        """Try it once. Raises ConfigurationError, saying what to do, when it cannot hold a script here."""
        if self._works:
            return
        script = 'test "$(id -u)" = 65534 && ! : 2>/dev/null >/x && echo held'
        result = await self._run(ScriptRequest(script=script, variables={}, limits=_PROBE))
        if result.stdout != "held\n":
            raise ConfigurationError(
                "bubblewrap cannot build a sandbox on this machine, so scripts do not run: "
                f"{(result.stderr or result.stdout).strip()[:300] or 'it gave no reason'}",
                details={
                    "setting": "skill.sandbox",
                    "next": "Allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, on Ubuntu also "
                    "kernel.apparmor_restrict_unprivileged_userns=0; in a container a security profile that permits "
                    "them), or set skill.sandbox to none and run scripts without a sandbox.",
                },
            )
        self._works = True

    async def run(self, request: ScriptRequest) -> ScriptResult:
        """Run a script to its end or its limits. Raises ConfigurationError like `require`."""
        await self.require()
        return await self._run(request)

    async def _run(self, request: ScriptRequest) -> ScriptResult:
        program = self._find()
        # Set inside the sandbox, where the kernel counts the processes of this script alone.
        limits = held(request.limits, processes=True)
        user = random.choice(_FREE_USERS) if os.getuid() == 0 else None
        told, tells = os.pipe()
        with ExitStack() as files:
            files.callback(os.close, told)
            script = files.enter_context(_memory("script", request.script.encode("utf-8", "replace")))
            options = "\0".join([*_options(request, script), "--info-fd", str(tells), ""])
            # Handed over in a file, so that no argument is seen in the machine's list of processes.
            given = files.enter_context(_memory("options", options.encode("utf-8", "replace")))
            try:
                process = await anyio.open_process(
                    [program, "--args", str(given), "--", *limits, SHELL, "/skill/script"],
                    stdin=subprocess.DEVNULL,
                    env={},
                    pass_fds=(script, given, tells),
                    start_new_session=True,
                    user=user,
                    group=user,
                    extra_groups=None if user is None else [],
                )
            finally:
                os.close(tells)
            async with _inside(process, told) as end:
                return await finish(process, request.limits, end=end)

    def _find(self) -> str:
        beside = Path(sys.prefix) / "bin" / "bwrap"
        found = self._program or shutil.which("bwrap") or (str(beside) if os.access(beside, os.X_OK) else None)
        if found is None or not os.access(found, os.X_OK):
            raise ConfigurationError(
                "There is no bubblewrap (bwrap) on this machine, so scripts do not run.",
                details={
                    "setting": "skill.sandbox",
                    "next": "Install it, on Debian with `apt-get install bubblewrap`; or set skill.sandbox to none and "
                    "run scripts without a sandbox.",
                },
            )
        return found


def _options(request: ScriptRequest, script: int) -> list[str]:
    limits = request.limits
    options = ["--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"]
    options += ["--clearenv", "--cap-drop", "ALL", "--uid", _NOBODY, "--gid", _NOBODY, "--hostname", "skill"]
    options += ["--ro-bind", "/usr", "/usr", *_system(), "--proc", "/proc", "--dev", "/dev"]
    options += [part for path in _NEEDED for part in ("--ro-bind-try", path, path)]
    options += ["--size", str(limits.work_bytes), "--tmpfs", "/work", "--symlink", "work", "/tmp"]
    options += ["--perms", "0444", "--ro-bind-data", str(script), "/skill/script"]
    # Last, because the places above are made on these two, which have no size limit.
    options += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/work"]
    for name, value in environment_of(request.variables).items():
        options += ["--setenv", name, value]
    return options


def _system() -> Iterator[str]:
    """The folders of programs at the root, as links where the machine has links into /usr."""
    for name in _SYSTEM:
        path = Path("/") / name
        if path.is_symlink():
            yield from ("--symlink", os.readlink(path), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))


@contextmanager
def _memory(name: str, content: bytes) -> Iterator[int]:
    """A file in memory that holds `content`, to be inherited by a process."""
    descriptor = os.memfd_create(name)
    try:
        os.write(descriptor, content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


@asynccontextmanager
async def _inside(process: Process, told: int) -> AsyncIterator[Callable[[], None]]:
    """How to end the first process inside, and with it all others there; none of them is left behind this block."""
    first: int | None = None
    try:
        first = await _first(process, told)
        yield partial(_kill, process, first)
    finally:
        with anyio.CancelScope(shield=True):
            _kill(process, first)
            if first is not None:
                # It ends after the kernel has ended everything else in its namespace.
                with anyio.move_on_after(_PATIENCE_S):
                    await anyio.wait_readable(first)
                os.close(first)


async def _first(process: Process, told: int) -> int | None:
    """A handle of the first process inside, as bwrap tells; None when it could not start one."""
    said = b""
    with anyio.move_on_after(_PATIENCE_S):
        while not (found := re.search(rb'"child-pid": (\d+)\D', said)):
            await anyio.wait_readable(told)
            if not (more := os.read(told, 4_096)):
                return None
            said += more  # bwrap writes it piece by piece
        with suppress(OSError):
            handle = os.pidfd_open(int(found[1]))
            # Still its child, and not another process that was given the same number.
            if f"PPid:\t{process.pid}\n" in Path(f"/proc/{int(found[1])}/status").read_text():
                return handle
            os.close(handle)
    return None


def _kill(process: Process, first: int | None) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if first is not None:
            signal.pidfd_send_signal(first, signal.SIGKILL)
        elif process.returncode is None:
            process.kill()
