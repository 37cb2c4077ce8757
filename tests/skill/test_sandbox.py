"""Hostile scripts in the sandbox, past the check: each tries its harm, and each fails."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lamina.app import App
from lamina.errors import ConfigurationError, SkillFailedError
from lamina.skill.bubblewrap import BubblewrapSandbox
from lamina.skill.sandbox import Limits, LimitsOnly, ScriptRequest, ScriptResult
from lamina.skill.service import SkillService
from tests.skill.opening import make_script, skilled_app

pytestmark = pytest.mark.anyio

LIMITS = Limits(seconds=10, memory_bytes=256 * 2**20, work_bytes=2**20, processes=24, output_bytes=20_000)
SECRET = "planted-9f8e7d6c5b4a"
MARK = "86399.25"  # seconds to sleep, by which a process that survived would be found
OWN = f"86399.{os.getpid()}"  # the same as this process says it: others run tests at the same time


async def _attack(script: str, **limits: float) -> ScriptResult:
    held = replace(LIMITS, **limits)  # type: ignore[arg-type]
    own = script.replace(MARK, OWN)
    return await BubblewrapSandbox().run(ScriptRequest(script=own, variables={}, limits=held))


@pytest.fixture
def open_folder(tmp_path: Path) -> Path:
    """A folder that everybody on this machine may read and write."""
    tmp_path.chmod(0o777)
    return tmp_path


@pytest.fixture
def victim() -> Iterator["subprocess.Popen[bytes]"]:
    """A process of ours outside the sandbox."""
    process = subprocess.Popen(["sleep", "600"])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _survivors() -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
        except OSError:
            continue
        if OWN.encode() in line:
            found.append(entry.name)
    return found


@pytest.mark.requirement("knowledge.skill.run-script")
async def test_an_ordinary_script_runs_in_an_empty_folder_with_nothing_of_ours() -> None:
    result = await _attack("pwd; ls -A; id -u; echo text > file; sort file | tr a-z A-Z; awk 'BEGIN { print 6 * 7 }'")
    assert (result.status, result.stdout, result.stderr) == (0, "/work\n65534\nTEXT\n42\n", "")


@pytest.mark.requirement("knowledge.skill.run-script")
async def test_a_planted_secret_cannot_be_read(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = open_folder / "secret.txt"
    planted.write_text(SECRET)
    planted.chmod(0o666)
    monkeypatch.setenv("PLANTED", SECRET)
    script = f"""
    cat {planted}; cat /proc/self/root{planted}; cat /proc/1/root{planted}; cat /proc/*/cwd/secret.txt
    cat /proc/*/environ | tr '\\0' '\\n'; env; set; cat /proc/*/cmdline; cat <&3; cat <&4; cat <&5
    cat /etc/shadow /etc/passwd /root/.ssh/* /home/*/.ssh/*; find / -name secret.txt 2>/dev/null | xargs cat
    """
    result = await _attack(script)
    assert SECRET not in result.stdout + result.stderr
    assert "root:" not in result.stdout


@pytest.mark.requirement("knowledge.skill.run-script")
async def test_nothing_outside_can_be_written(open_folder: Path) -> None:
    script = f"""
    for place in {open_folder} / /usr /usr/bin /etc /tmp/.. /dev /dev/shm /proc /proc/sys/kernel /var /root /skill; do
      echo x > $place/lamina-was-here && [ "$(realpath $place)" != / ] && echo "WROTE $place"
    done
    echo x > /lamina-was-here && echo "WROTE root"
    echo evil >> /skill/script && echo "WROTE script"
    mkdir -p {open_folder}/made
    """
    result = await _attack(script)
    assert "WROTE" not in result.stdout
    assert list(open_folder.iterdir()) == []
    assert not Path("/usr/lamina-was-here").exists()


@pytest.mark.requirement("knowledge.skill.run-script")
async def test_no_connection_can_be_opened(open_folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
        server.setblocking(False)
        local.bind("\0lamina-abstract")
        local.listen()
        local.setblocking(False)
        port = server.getsockname()[1]
        script = f"""
        (echo hi > /dev/tcp/127.0.0.1/{port}) && echo CONNECTED
        (echo hi > /dev/tcp/1.1.1.1/80) && echo CONNECTED
        perl -MSocket -e 'socket(S,PF_UNIX,SOCK_STREAM,0);
            connect(S,pack_sockaddr_un("\\0lamina-abstract")) and print "CONNECTED"'
        perl -MSocket -e 'socket(S,PF_INET,SOCK_STREAM,0);
            connect(S,pack_sockaddr_in({port},inet_aton("127.0.0.1"))) and print "CONNECTED"'
        cat /proc/net/dev | grep -v lo: | grep -q : && echo INTERFACE
        """
        result = await _attack(script)
        assert "CONNECTED" not in result.stdout
        assert "INTERFACE" not in result.stdout
        for listening in (server, local):
            with pytest.raises(BlockingIOError):
                listening.accept()


@pytest.mark.requirement("knowledge.skill.run-script")
@pytest.mark.parametrize("bomb", [":(){ :|:& };:", "while :; do sleep " + MARK + " & done", "perl -e 'fork while 1'"])
async def test_a_fork_bomb_stays_small_and_ends(bomb: str) -> None:
    result = await _attack(f"{bomb}\nsleep {MARK}", seconds=1.5)
    assert result.reached in ("timeout_s", "max_output_bytes")
    assert _survivors() == []


@pytest.mark.requirement("knowledge.skill.run-script")
async def test_only_so_many_processes_run_at_once() -> None:
    result = await _attack("for i in $(seq 100); do sleep 1 & done 2>/dev/null; ls -d /proc/[0-9]* | wc -l", seconds=30)
    assert result.reached is None
    assert 1 <= int(result.stdout.split()[-1] if result.stdout.split() else 1) <= LIMITS.processes + 5


@pytest.mark.requirement("knowledge.skill.run-script")
async def test_the_disk_cannot_be_filled() -> None:
    script = """
    for i in 1 2 3 4 5 6 7 8; do head -c 1000000 /dev/zero > /work/f$i; head -c 1000000 /dev/zero > /tmp/t$i; done
    head -c 1000000 /dev/zero > /dev/shm/x; head -c 1000000 /dev/zero > /x
    du -sk /work | cut -f1
    """
    result = await _attack(script)
    assert int(result.stdout.split()[-1]) <= LIMITS.work_bytes // 1024 + 64


@pytest.mark.requirement("knowledge.skill.run-script")
@pytest.mark.parametrize(
    "script",
    [
        "while :; do :; done",
        f"trap '' TERM INT HUP QUIT; sleep {MARK}; sleep {MARK}",
        f"setsid nohup sleep {MARK} >/dev/null 2>&1 & disown; sleep {MARK}",
        f"exec >&- 2>&-; sleep {MARK}",
    ],
)
async def test_nothing_runs_for_ever(script: str) -> None:
    result = await _attack(script, seconds=1)
    assert result.reached == "timeout_s"
    assert _survivors() == []


@pytest.mark.requirement("knowledge.skill.run-script")
async def test_what_is_left_in_the_background_ends_with_the_script() -> None:
    result = await _attack(f"setsid sleep {MARK} </dev/null >/dev/null 2>&1 & disown; echo done")
    assert (result.status, result.stdout) == (0, "done\n")
    assert _survivors() == []


@pytest.mark.requirement("knowledge.skill.run-script")
async def test_memory_is_bounded() -> None:
    result = await _attack(
        "perl -e '$x = \"a\" x (1 << 32); print \"GOT\"'; x=$(head -c 900000000 /dev/zero | tr '\\0' a); echo ${#x}"
    )
    assert "GOT" not in result.stdout
    assert "900000000" not in result.stdout


@pytest.mark.requirement("knowledge.skill.run-script")
async def test_output_is_bounded() -> None:
    result = await _attack("yes; echo never")
    assert result.reached == "max_output_bytes"
    assert len(result.stdout) <= LIMITS.output_bytes


@pytest.mark.requirement("knowledge.skill.run-script")
async def test_there_is_no_way_out_through_proc(open_folder: Path, victim: "subprocess.Popen[bytes]") -> None:
    (open_folder / "secret.txt").write_text(SECRET)
    script = f"""
    ls /proc/{victim.pid} 2>/dev/null && echo ESCAPED-pid
    ls /proc/1/root/home /proc/1/root/root /proc/self/root/root 2>/dev/null && echo ESCAPED-root
    echo '|/work/x' > /proc/sys/kernel/core_pattern && echo ESCAPED-core
    echo b > /proc/sysrq-trigger && echo ESCAPED-sysrq
    echo 1 > /proc/sys/kernel/randomize_va_space && echo ESCAPED-sysctl
    echo 0 0 1 > /proc/self/uid_map && echo ESCAPED-map
    head -c 1 /proc/kcore >/dev/null 2>&1 && echo ESCAPED-kcore
    for p in /proc/[0-9]*; do cat $p/root{open_folder}/secret.txt; cat $p/cwd/secret.txt; done
    """
    result = await _attack(script)
    assert "ESCAPED" not in result.stdout
    assert SECRET not in result.stdout


@pytest.mark.requirement("knowledge.skill.run-script")
async def test_there_is_no_way_to_more_rights() -> None:
    script = """
    unshare -U true && echo ESCAPED-user; unshare -m true && echo ESCAPED-mount; unshare -n true && echo ESCAPED-net
    mount -t tmpfs none /work && echo ESCAPED-mounted; mount -o remount,rw / && echo ESCAPED-remounted
    chroot / true && echo ESCAPED-chroot; mknod /work/d b 8 0 && echo ESCAPED-device
    cp /usr/bin/id /work/id && chmod 4755 /work/id && [ "$(/work/id -u)" = 0 ] && echo ESCAPED-setuid
    prlimit --nproc=100000:100000 true && echo ESCAPED-limit
    grep -q 'CapEff:.*[1-9a-f]' /proc/self/status && echo ESCAPED-capability
    grep -q 'NoNewPrivs:.*1' /proc/self/status || echo ESCAPED-privileges
    """
    result = await _attack(script)
    assert "ESCAPED" not in result.stdout


@pytest.mark.requirement("knowledge.skill.run-script")
async def test_other_processes_cannot_be_signalled(victim: "subprocess.Popen[bytes]") -> None:
    await _attack(f"kill -9 {victim.pid}; kill -9 {os.getpid()}; kill -9 -1")
    assert victim.poll() is None
    os.kill(victim.pid, signal.SIGCONT)


@pytest.mark.requirement("knowledge.skill.run-script")
async def test_two_runs_do_not_see_each_others_files_or_processes() -> None:
    sandbox = BubblewrapSandbox()
    first = await sandbox.run(
        ScriptRequest(script="echo x > /work/left; echo x > /tmp/left", variables={}, limits=LIMITS)
    )
    second = await sandbox.run(ScriptRequest(script="ls -A /work /tmp/", variables={}, limits=LIMITS))
    assert first.status == 0
    assert "left" not in second.stdout


@pytest.mark.requirement("knowledge.skill.run-script")
async def test_parameters_are_data_and_the_status_counts(skills: SkillService) -> None:
    await make_script(skills, "show", 'printf "%s" "$SKILL_TEXT"', text={"type": "string"})
    for text in ("$(touch /work/x)", "`id`", "a b\n'\"\\", "; exit 3", "é \u2028"):
        assert (await skills.run("show", {"text": text})).output == text
    await make_script(skills, "fail", "echo trouble >&2; exit 7")
    with pytest.raises(SkillFailedError) as caught:
        await skills.run("fail")
    assert caught.value.details == {"status": 7, "stderr": "trouble"}
    assert [(await skills.get(name)).success_count for name in ("show", "fail")] == [5, 0]


@pytest.mark.requirement("knowledge.skill.no-sandbox")
@pytest.mark.parametrize("program", ["/nowhere/bwrap", "/bin/false", "/bin/true", "/bin/echo"])
async def test_without_a_working_sandbox_a_script_does_not_run(app: App, skills: SkillService, program: str) -> None:
    await make_script(skills, "touch", "echo ran")
    broken = replace(skills, runner=replace(skills.runner, sandbox=BubblewrapSandbox(program)))
    with pytest.raises(ConfigurationError) as caught:
        await broken.run("touch")
    assert caught.value.details["setting"] == "skill.sandbox"
    assert (await skills.get("touch")).use_count == 0
    (row, *_) = (await app.audit.list(tenant=skills.tenant, action="skill_execute")).rows
    assert row.details["denied"] == "CONFIGURATION_ERROR"


@pytest.mark.requirement("knowledge.skill.no-sandbox")
async def test_a_script_runs_without_a_sandbox_only_when_the_configuration_says_so(sqlite_url: str) -> None:
    async with skilled_app(sqlite_url, sandbox="none", timeout_s=5) as app:
        assert isinstance(app.skills.runner.sandbox, LimitsOnly)
        await make_script(app.skills, "where", "pwd; env | grep -c PYTEST")
        with pytest.raises(SkillFailedError):  # grep finds nothing: the environment is empty here, too
            await app.skills.run("where")
        await make_script(app.skills, "slow", f"sleep {OWN}")
        with pytest.raises(SkillFailedError, match="timeout_s"):
            await replace(
                app.skills, runner=replace(app.skills.runner, settings=replace(app.skills.settings, timeout_s=0.3))
            ).run("slow")
        assert _survivors() == []
