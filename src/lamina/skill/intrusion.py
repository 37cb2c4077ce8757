"""More rights than the script was given, credentials read, traces wiped, and changes that outlive the run."""

import re
from collections.abc import Iterator

from lamina.skill.invocation import Invocation
from lamina.skill.network import _SPEAKS_OF_SHELLS as _HARMLESS
from lamina.skill.path import LASTING, POWER, TRACES, absolute, is_secret
from lamina.skill.program import SHELLS, has_long, letters, operands, option_value

_CLIMBERS = frozenset({
    "sudo", "doas", "pkexec", "su", "runuser", "gosu", "su-exec", "sudoedit", "visudo", "kdesu", "gksu", "gksudo",
    "dzdo"
})  # fmt: skip
_POWER_TOOLS = frozenset({"setcap", "chpasswd", "vipw", "capsh", "nsenter", "newgidmap", "newuidmap", "kexec"})
_PRELOADS = frozenset({"LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "PERL5DB", "BASH_ENV"})
_SETUID_MODE = re.compile(r"^0?[4567][0-7]{3}$")
_SETUID_SIGN = re.compile(r"(?:^|,)(?=[ugoa]*[-+=])(?:[oa]*u[ugoa]*|[oa]+|)[+=][rwxXt]*s")
_SHELL = r"(?:/(?:usr/)?(?:local/)?bin/)?(?:ba|z|da|k|a|c|tc|fi)?sh"
_ESCAPES = re.compile(
    r"(?:system|exec[lvpe]*|spawn\w*|popen|execute|shell|exec_command|execFile\w*|call|check_output|run|term|!)"
    rf"\s*[\(\[\{{\"'=: ,]*{_SHELL}\b(?!\w*\.)"
    rf"|(?:^|[:;\s'\"|])!+\s*{_SHELL}\b|(?:exec|EXEC|command|cmd|program|pager|shell|checkpoint-action=exec)[=:]\s*['\"]?{_SHELL}\b"
    rf"|^\.shell\s|\\!\s*{_SHELL}\b|^{_SHELL}\s+(?:-[ip]\b|0<&|[12]>&|<&)|sh\s+0<&2\s+1>&2"
    rf"|^(?:sh|bash) -c ['\"]?{_SHELL}\b",
)
_SHELL_WORD = re.compile(r"^/(?:usr/)?(?:local/)?bin/(?:ba|z|da|k|a|c|tc|fi)?sh(?:\s+-[\w]+|\s*#.*)?$")
_QUIET_WRAPPERS = frozenset({
    "exec", "ssh", "tmux", "screen", "docker", "podman", "kubectl", "nohup", "sudo", "git", "trap", "eval", "time"
})  # fmt: skip


def climbs(command: Invocation) -> Iterator[str]:
    """Yield why `command` asks for rights the script was not given."""
    name, words = command.name, command.words
    preloaded = _PRELOADS & set(command.assigned) | {
        p for p in _PRELOADS if name in ("env", "export") and any(w.startswith(p + "=") for w in words)
    }
    yield from (f"loads code into other programs through {one}" for one in sorted(preloaded))
    if name in _CLIMBERS:
        yield f"becomes another user with {name}"
    if name in _POWER_TOOLS:
        yield f"changes rights with {name}"
    if name == "chmod" and words:
        mode = next((w for w in words if not w.startswith("--") and not re.match(r"^-[RvcfHLP]+$", w)), "")
        if _SETUID_MODE.match(mode) or _SETUID_SIGN.search(mode):
            yield "makes a program run as its owner"
    if name == "install" and _SETUID_MODE.match(option_value(words, "-m", "--mode") or ""):
        yield "makes a program run as its owner"
    if name in ("usermod", "gpasswd", "adduser", "useradd"):
        text = " ".join(words)
        if re.search(r"\b(?:sudo|wheel|root|docker|admin|lxd|disk|shadow)\b", text) or re.search(
            r"-o\b.*-u\s*0|-u\s*0\b", text
        ):
            yield "gives an account more rights"
    if name == "passwd" and operands(words, valued="nxwi") in (["root"], []) and words[:1] != ("-S",):
        yield "changes a password"
    yield from _containers(command)
    yield from _writes(command)


def _containers(command: Invocation) -> Iterator[str]:
    text = " ".join(command.words)
    if command.name in ("docker", "podman", "nerdctl", "lxc"):
        opened = re.search(r"(?:-v|--volume|--mount)[ =](?:\S*source=)?/(?::|,|etc|root|var/run/docker)", text)
        if opened or re.search(
            r"--privileged|--pid[ =]host|--cap-add[ =](?:ALL|SYS_ADMIN)|security\.privileged=true", text
        ):
            yield "opens the machine to a container"
    if command.name == "sysctl" and re.search(r"kernel\.(?:core_pattern|modprobe|randomize_va_space|yama)", text):
        yield "changes the kernel"
    if command.name == "mount" and re.search(r"\b(?:remount|bind)\b", text):
        yield "changes what is mounted"


def _writes(command: Invocation) -> Iterator[str]:
    targets = [one.target.text for one in command.redirects if ">" in one.operator]
    if command.name in (
        "tee",
        "cp",
        "mv",
        "install",
        "ln",
        "sed",
        "vim",
        "ed",
        "nano",
        "chmod",
        "chown",
        "dd",
        "rsync",
        "patch",
        "perl",
    ):
        given = operands(command.words)
        editing = command.name != "sed" or "i" in letters(command.words) or has_long(command.words, "--in-place")
        if command.name in ("cp", "mv", "install", "ln", "rsync"):
            given = given[-1:]
        targets.extend(given if editing else [])
        targets.extend(word[3:] for word in command.words if word.startswith("of="))
    for path in targets:
        if POWER.search(absolute(path, command.folder)) and "ssh" not in command.via:
            yield f"changes {path}"
    if command.stdin and "NOPASSWD" in command.stdin and command.name == "tee":
        yield "gives rights without a password"


def escapes(command: Invocation) -> Iterator[str]:
    """Yield why `command` is a shell in disguise: a program that is made to start an interactive shell."""
    name, words = command.name, command.words
    if name in SHELLS:
        options = letters(words)
        bare = not operands(words, valued="oO") and "c" not in options
        through = [one for one in command.via if one not in _QUIET_WRAPPERS and one not in SHELLS]
        if bare and through and command.stdin is None and not any("<" in one.operator for one in command.redirects):
            yield f"{through[-1]} starts a shell"
        if bare and "p" in options:
            yield "keeps the rights of another user"
        if bare and "i" in options and not command.upstream:
            yield "starts an interactive shell"
        return
    if re.match(rf"^:?!+{_SHELL}$", command.argv[0].text if command.argv else ""):
        yield "starts a shell from inside another program"
    if name in _HARMLESS - {
        "awk",
        "sed",
        "git",
        "man",
        "apt",
        "apt-get",
        "dpkg",
        "rpm",
        "tar",
        "zip",
        "rsync",
        "scp",
        "pip",
        "npm",
        "yum",
        "dnf",
    }:
        return
    for word in words:
        if _ESCAPES.search(word) or (
            _SHELL_WORD.match(word) and name not in ("find", "env", "xargs", "apt", "dpkg", "rpm", "dnf", "yum")
        ):
            yield f"{name} starts a shell"
            return
    for value in command.assigned.values():
        if _SHELL_WORD.match(value) or re.search(rf"^{_SHELL}\s+-c\b", value):
            yield f"{name or 'a variable'} is told to start a shell"
            return


_LOOKS_ONLY = frozenset({
    "ls", "stat", "test", "[", "[[", "chmod", "chown", "chgrp", "mkdir", "touch", "ssh", "ssh-add", "ssh-keygen",
    "ssh-copy-id", "cd", "sftp", "mosh", "file", "du", "echo", "printf", "rmdir", "readlink", "realpath", "git",
    "ansible", "ansible-playbook", "which", "autossh", "sshfs", "basename", "dirname", "export"
})  # fmt: skip
_METADATA = re.compile(r"169\.254\.169\.254|metadata\.google\.internal|100\.100\.100\.200|/latest/meta-data/iam")


def reads_secrets(command: Invocation) -> Iterator[str]:
    """Yield which credentials `command` would read."""
    if "ssh" in command.via:
        return
    paths = [absolute(one.target.text, command.folder) for one in command.redirects if one.operator == "<"]
    if command.name not in _LOOKS_ONLY:
        given = command.words
        words = [word for at, word in enumerate(given) if given[at - 1 : at] != ("-i",)]
        paths.extend(
            absolute(word.partition("=")[2] or word.lstrip("@"), command.folder) for word in words if "/" in word
        )
    yield from (f"reads credentials from {path}" for path in paths if is_secret(path))
    if any(_METADATA.search(word) for word in command.words) and command.name not in ("echo", "printf", "grep"):
        yield "asks the cloud for the machine's credentials"
    if command.name in ("unshadow", "john", "hashcat", "mimipenguin", "lazagne", "keyctl", "secretsdump.py"):
        yield f"collects passwords with {command.name}"


def wipes_traces(command: Invocation) -> Iterator[str]:
    """Yield why `command` hides what was done."""
    words = command.words
    if command.name == "history" and letters(words) & {"c", "d", "w"}:
        yield "clears the history"
    if command.name == "unset" and "HISTFILE" in words:
        yield "switches the history off"
    for name, value in command.assigned.items():
        if (name == "HISTFILE" and value in ("", "/dev/null")) or (
            name in ("HISTSIZE", "HISTFILESIZE") and value == "0"
        ):
            yield "switches the history off"
    if command.name == "journalctl" and any(word.startswith(("--vacuum", "--rotate")) for word in words):
        yield "removes the journal"
    if command.name == "dmesg" and letters(words) & {"c", "C"}:
        yield "clears the kernel's messages"
    if command.name in ("auditctl", "setenforce") and set(words) & {"-D", "-e", "0"}:
        yield "switches the audit off"
    written = [one.target.text for one in command.redirects if one.operator in (">", ">|", "&>")]
    if command.name in ("ln", "cp", "mv", "tee", "truncate", "shred", "sed"):
        in_place = command.name != "sed" or "i" in letters(words)
        written.extend(operands(words)[-1:] if in_place and "a" not in letters(words) else [])
    for path in written:
        if TRACES.search(absolute(path, command.folder)):
            yield f"wipes {path}"


def stays(command: Invocation) -> Iterator[str]:
    """Yield what `command` would leave running or waiting after the script."""
    words = command.words
    if command.name == "crontab" and "l" not in letters(words):
        yield "changes the table of timed jobs"
    if command.name in ("at", "batch") and not (letters(words) & {"l", "c", "d"}):
        yield "starts work that runs later"
    if command.name == "systemctl" and {"enable", "link", "daemon-reload"} & set(words):
        yield "installs a service"
    if (
        command.name in ("update-rc.d", "chkconfig", "launchctl")
        and len(words) > 1
        and not has_long(words, "--list")
        and "list" not in words
    ):
        yield "installs a service"
    if "ssh" in command.via:
        return
    written = [one.target.text for one in command.redirects if ">" in one.operator]
    if command.name in ("tee", "cp", "mv", "install", "ln", "sed"):
        in_place = command.name != "sed" or "i" in letters(words)
        written.extend(operands(words) if command.name == "tee" else operands(words)[-1:] if in_place else [])
    yield from (
        f"writes {path}, which outlives the run" for path in written if LASTING.search(absolute(path, command.folder))
    )
