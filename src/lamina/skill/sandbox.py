"""The port of what holds a script, and the shell without a sandbox for those who ask for it."""

import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import anyio
from anyio.abc import ByteReceiveStream, Process

from lamina.errors import ConfigurationError

SHELL = "/bin/bash"
_PATIENCE_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a script may take."""

    seconds: float
    memory_bytes: int
    work_bytes: int
    processes: int
    output_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptRequest:
    """A script to run; `variables` are its whole environment besides PATH, HOME and LANG."""

    script: str
    variables: Mapping[str, str]
    limits: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptResult:
    """How a script ended. `reached` names the limit that stopped it: `timeout_s` or `max_output_bytes`."""

    status: int
    stdout: str
    stderr: str
    reached: str | None = None


class Sandbox(Protocol):
    """Runs a script where it can do no harm."""

    async def require(self) -> None:
        """Raise ConfigurationError, saying what to do, when scripts cannot be held on this machine."""
        ...

    async def run(self, request: ScriptRequest) -> ScriptResult:
        """Run a script to its end or its limits. Raises ConfigurationError like `require`."""
        ...


class LimitsOnly:
    """No sandbox: the script has the rights and the files of this process, and only limits hold it."""

    async def require(self) -> None:
        """Raise ConfigurationError where there is no shell."""
        if not os.access(SHELL, os.X_OK):
            raise ConfigurationError(f"There is no {SHELL} to run scripts with.")

    async def run(self, request: ScriptRequest) -> ScriptResult:
        """Run a script in an empty folder with an empty environment."""
        await self.require()
        limits = request.limits
        folder = tempfile.mkdtemp(prefix="lamina-skill-")
        environment = {**environment_of(request.variables), "HOME": folder}
        # Without a user namespace the kernel counts every process of this user, not those of the script.
        command = [*held(limits, processes=False), SHELL, "-c", request.script, "skill"]
        try:
            process = await anyio.open_process(command, stdin=None, cwd=folder, env=environment, start_new_session=True)
            return await finish(process, limits, end=lambda: _end_group(process))
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def held(limits: Limits, *, processes: bool) -> list[str]:
    """The start of a command line that holds every process behind it to the limits."""
    found = shutil.which("prlimit", path="/usr/bin:/bin")
    if found is None:
        raise ConfigurationError("There is no prlimit to limit scripts with; install util-linux.")
    seconds = int(limits.seconds) + 1
    command = [found, f"--as={limits.memory_bytes}", f"--fsize={limits.work_bytes}", f"--cpu={seconds}"]
    command += [f"--nproc={limits.processes}"] if processes else []
    return [*command, "--nofile=128", "--core=0", "--"]


def environment_of(variables: Mapping[str, str]) -> dict[str, str]:
    """All a script finds in its environment."""
    return {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/work", **variables}


async def finish(process: Process, limits: Limits, *, end: Callable[[], None]) -> ScriptResult:
    """Read what a process prints until it ends or a limit is reached; it never outlives this call.

    `end` ends the process and everything it started.
    """
    outcome: dict[str, bytes] = {"out": b"", "err": b""}
    reached: list[str] = []

    async def read(name: str, stream: ByteReceiveStream) -> None:
        async for chunk in stream:
            outcome[name] += chunk
            if sum(map(len, outcome.values())) > limits.output_bytes:
                reached.append("max_output_bytes")
                end()
                return

    assert process.stdout is not None
    assert process.stderr is not None
    try:
        with anyio.move_on_after(limits.seconds) as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(read, "out", process.stdout)
                group.start_soon(read, "err", process.stderr)
            await process.wait()
        if scope.cancelled_caught:
            reached.append("timeout_s")
    finally:
        end()
        with anyio.CancelScope(shield=True):
            with anyio.move_on_after(_PATIENCE_S):
                await process.wait()
            if process.returncode is None:
                process.kill()
            await process.aclose()
    room = limits.output_bytes
    return ScriptResult(
        status=process.returncode if process.returncode is not None else -1,
        stdout=outcome["out"][:room].decode("utf-8", "replace"),
        stderr=outcome["err"][:room].decode("utf-8", "replace"),
        reached=reached[0] if reached else None,
    )


def _end_group(process: Process) -> None:
    """Kill what is left of the session that the process was started as the leader of."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
