"""Credentials that are read, traces that are wiped, and changes that outlive the run."""

import re
from collections.abc import Iterator

from lamina.skill.invocation import Invocation
from lamina.skill.path import LASTING, TRACES, absolute, is_secret
from lamina.skill.program import has_long, letters, operands

_LOOKS_ONLY = frozenset(
    {"ls", "stat", "test", "[", "[[", "chmod", "chown", "chgrp", "mkdir", "touch", "ssh", "ssh-add", "ssh-keygen", "ssh-copy-id", "cd"}
    | {"sftp", "mosh", "file", "du", "echo", "printf", "rmdir", "readlink", "realpath", "git", "ansible", "ansible-playbook", "which"}
    | {"autossh", "sshfs", "basename", "dirname", "export"}
)
_METADATA = re.compile(r"169\.254\.169\.254|metadata\.google\.internal|100\.100\.100\.200|/latest/meta-data/iam")


def reads_secrets(command: Invocation) -> Iterator[str]:
    """Yield which credentials `command` would read."""
    if "ssh" in command.via:
        return
    paths = [absolute(one.target.text, command.folder) for one in command.redirects if one.operator == "<"]
    if command.name not in _LOOKS_ONLY:
        words = [word for at, word in enumerate(command.words) if command.words[at - 1 : at] != ("-i",)]
        paths.extend(absolute(word.partition("=")[2] or word.lstrip("@"), command.folder) for word in words if "/" in word)
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
        if (name == "HISTFILE" and value in ("", "/dev/null")) or (name in ("HISTSIZE", "HISTFILESIZE") and value == "0"):
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
    if command.name in ("update-rc.d", "chkconfig", "launchctl") and len(words) > 1 and not has_long(words, "--list") and "list" not in words:
        yield "installs a service"
    if "ssh" in command.via:
        return
    written = [one.target.text for one in command.redirects if ">" in one.operator]
    if command.name in ("tee", "cp", "mv", "install", "ln", "sed"):
        in_place = command.name != "sed" or "i" in letters(words)
        written.extend(operands(words) if command.name == "tee" else operands(words)[-1:] if in_place else [])
    yield from (f"writes {path}, which outlives the run" for path in written if LASTING.search(absolute(path, command.folder)))
