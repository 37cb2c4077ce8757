"""Shells that another machine would talk to, and code that comes from elsewhere or is hidden."""

import re
from collections.abc import Iterator

from lamina.skill.invocation import Invocation
from lamina.skill.program import DECODERS, DOWNLOADERS, INTERPRETERS, SHELLS, has_long, letters, operands, program_name

_NETCATS = frozenset({"nc", "ncat", "netcat", "cryptcat", "sbd", "dbd", "pnetcat", "powercat"})
_TALKERS = _NETCATS | {
    "socat",
    "telnet",
    "openssl",
    "websocat",
    "rcat",
    "rustcat",
    "socket",
    "gnutls-cli",
    "stunnel",
    "nc6",
}
_REMOTE_SHELLS = frozenset({
    "telnetd", "in.telnetd", "rlogind", "rshd", "ttyd", "gotty", "tmate", "wetty", "shellinaboxd", "dropbear",
    "pwncat", "pwncat-cs", "msfvenom", "msfconsole", "msfcli", "weevely", "evil-winrm", "reverse-ssh", "gs-netcat",
    "icmpsh", "dnscat", "dnscat2", "xtightvncviewer", "sctp_test", "rcat", "rustcat", "ztcp"
})  # fmt: skip
_SPEAKS_OF_SHELLS = frozenset({
    "ls", "file", "stat", "which", "type", "whereis", "chsh", "ldd", "ln", "cp", "mv", "echo", "printf", "test",
    "[", "[[", "grep", "egrep", "cat", "head", "tail", "wc", "chmod", "chown", "useradd", "usermod", "adduser",
    "man", "apropos", "md5sum", "sha256sum", "du", "realpath", "readlink", "basename", "dirname", "pgrep", "pkill",
    "killall", "ps", "lsof", "hash", "command", "export", "apt", "apt-get", "yum", "dnf", "brew", "pip", "npm",
    "dpkg", "rpm", "awk", "sed", "tee", "touch", "diff", "cmp", "fgrep", "rg", "git", "kill", "sort", "cut", "tr",
    "seq", "jobs", "set", "unset", "declare", "local", "alias", "rename", "rsync", "scp", "tar", "zip"
})  # fmt: skip


def network_shells(command: Invocation) -> Iterator[str]:
    """Yield why `command` hands a shell to another machine, or waits for one that asks."""
    name, words = command.name, command.words
    for redirect in command.redirects:
        if re.match(r"^/dev/(?:tcp|udp)/", redirect.target.text):
            yield f"opens a network connection through {redirect.target.text}"
    if any(re.match(r"^/dev/(?:tcp|udp)/", word) for word in words):
        yield "opens a network connection through /dev/tcp"
    if name in _NETCATS and (
        letters(words) & {"e", "c"} or has_long(words, "--exec", "--sh-exec", "--lua-exec", "--lua")
    ):
        yield f"{name} runs a program for the other side"
    if name == "socat" and any(re.search(r"(?i)\b(?:exec|system|shell):", word) for word in words):
        yield "socat runs a program for the other side"
    if name in _TALKERS and _talks(command) and any(_takes_orders(one) for one in command.upstream):
        yield f"a shell answers to {name}"
    if name in _REMOTE_SHELLS:
        yield f"{name} offers a shell to others"
    if name in ("xterm", "xnest", "rxvt") and any(re.search(r"\d+\.\d+\.\d+\.\d+:\d", word) for word in words):
        yield "opens a terminal on another machine"
    if _names_shell_and_address(command):
        yield f"{name} connects a shell to an address"


def _talks(command: Invocation) -> bool:
    return command.name != "openssl" or bool({"s_client", "s_server"} & set(command.words))


def _takes_orders(command: Invocation) -> bool:
    """Say whether a shell in a pipeline runs whatever it reads."""
    if command.name not in SHELLS:
        return False
    return "i" in letters(command.words) or not operands(command.words)


def _names_shell_and_address(command: Invocation) -> bool:
    if command.name in _SPEAKS_OF_SHELLS or command.name in SHELLS or not command.argv:
        return False
    words = command.words
    shell = [
        w
        for w in words
        if w.split() and program_name(w.split()[0]) in SHELLS and (w[:1] == "/" or w.split()[0] in SHELLS)
    ]
    if not shell or command.name in (
        "ssh",
        "docker",
        "podman",
        "kubectl",
        "timeout",
        "nice",
        "xargs",
        "find",
        "env",
        "watch",
        "chroot",
    ):
        return False
    host = [
        w
        for w in words
        if re.match(r"^(?:[a-z]\w*:/*)?(?:\d{1,3}(?:\.\d{1,3}){3}|[\w-]+(?:\.[\w-]+)+)(?::\w+)?$", w) and w not in shell
    ]
    port = [w for w in words if re.fullmatch(r"\d{2,5}", w)]
    return bool(port) and (bool(host) or bool(letters(words) & {"l", "s", "p"}))


_ESCAPED = re.compile(r"(?:\\x[0-9a-fA-F]{2}|\\0?[0-7]{3}|\\u[0-9a-fA-F]{4}){3,}")
_SCRAMBLERS = frozenset({"rev", "tr", "fold", "cut", "awk", "sed", "xxd", "od", "openssl", "base64", "base32"})


def downloads(command: Invocation) -> bool:
    """Say whether `command` prints or stores what another machine sends."""
    if command.name == "openssl":
        return "s_client" in command.words or "s_server" in command.words
    if command.name in ("scp", "rsync"):
        return any(re.match(r"^(?:[\w.-]+@)?[\w.-]+:(?!\\)", word) or "://" in word for word in command.words[:-1])
    if command.name in ("git", "gh"):
        return "clone" in command.words and False
    return command.name in DOWNLOADERS


def decodes(command: Invocation) -> bool:
    """Say whether `command` turns encoded text back into plain text."""
    name, words = command.name, command.words
    if name not in DECODERS:
        return name in ("printf", "echo") and any(_ESCAPED.search(word) for word in _raw(command))
    if name in ("base64", "base32", "base16", "basenc", "gzip"):
        return bool(letters(words) & {"d", "D"}) or has_long(words, "--decode", "--decompress")
    if name == "xxd":
        return "r" in letters(words) or has_long(words, "-revert")
    if name == "openssl":
        return "-d" in words
    return True


def _raw(command: Invocation) -> tuple[str, ...]:
    return command.words


def foreign_code(command: Invocation) -> Iterator[tuple[str, str]]:
    """Yield the rule and the reason why the code that `command` runs is not part of the script."""
    runs = command.executes
    if any(downloads(one) for one in runs):
        yield "remote-code", f"runs what {next(one.name for one in runs if downloads(one))} brings from the network"
    if any(decodes(one) for one in runs):
        yield "encoded", f"runs what {next(one.name for one in runs if decodes(one))} decodes"
    shell_like = command.name in SHELLS or command.name == "eval" or command.name in INTERPRETERS
    if shell_like and runs and runs[0].name in ("echo", "printf") and command.stdin is None:
        hidden = [one.name for one in runs[1:] if one.name in _SCRAMBLERS]
        if hidden and not any(one.name in ("find", "ls", "grep", "cat") for one in runs):
            yield "encoded", f"runs text that {hidden[0]} unscrambles"
