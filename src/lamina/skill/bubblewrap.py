"""Scripts in a bubblewrap sandbox.

A script finds the programs of /usr, read only; an empty work folder of bounded size, which is gone afterwards; its own
processes and nobody else's; no network, no environment, no user but nobody, no capability, and no way to make
namespaces of its own. Everything it starts ends with it. Where bubblewrap cannot build that, nothing runs.

A process that is root starts it under an unused user id, because the kernel does not count the processes of root.
"""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio

from lamina.errors import ConfigurationError
from lamina.skill.sandbox import SHELL, Limits, ScriptRequest, ScriptResult, environment_of, finish, held

_PROBE = Limits(seconds=10, memory_bytes=256 * 2**20, work_bytes=2**20, processes=16, output_bytes=65_536)
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
        with _memory("script", request.script.encode("utf-8", "replace")) as script:
            options = "\0".join(_options(request, script)).encode("utf-8", "replace") + b"\0"
            # Handed over in a file, so that no argument is seen in the machine's list of processes.
            with _memory("options", options) as given:
                user = random.choice(_FREE_USERS) if os.getuid() == 0 else None
                process = await anyio.open_process(
                    [program, "--args", str(given), "--", *limits, SHELL, "/skill/script"],
                    stdin=subprocess.DEVNULL,
                    env={},
                    pass_fds=(script, given),
                    start_new_session=True,
                    user=user,
                    group=user,
                    extra_groups=None if user is None else [],
                )
        return await finish(process, request.limits)

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
