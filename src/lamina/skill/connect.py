"""Shells that another machine would talk to."""

import re
from collections.abc import Iterator

from lamina.skill.invocation import Invocation
from lamina.skill.program import SHELLS, has_long, letters, operands, program_name

_NETCATS = frozenset({"nc", "ncat", "netcat", "cryptcat", "sbd", "dbd", "pnetcat", "powercat"})
_TALKERS = _NETCATS | {"socat", "telnet", "openssl", "websocat", "rcat", "rustcat", "socket", "gnutls-cli", "stunnel", "nc6"}
_REMOTE_SHELLS = frozenset(
    {"telnetd", "in.telnetd", "rlogind", "rshd", "ttyd", "gotty", "tmate", "wetty", "shellinaboxd", "dropbear", "pwncat"}
    | {"pwncat-cs", "msfvenom", "msfconsole", "msfcli", "weevely", "evil-winrm", "reverse-ssh", "gs-netcat", "icmpsh", "dnscat"}
    | {"dnscat2", "xtightvncviewer", "sctp_test", "rcat", "rustcat"}
)
_SPEAKS_OF_SHELLS = frozenset(
    {"ls", "file", "stat", "which", "type", "whereis", "chsh", "ldd", "ln", "cp", "mv", "echo", "printf", "test", "[", "[[", "grep", "egrep"}
    | {"cat", "head", "tail", "wc", "chmod", "chown", "useradd", "usermod", "adduser", "man", "apropos", "md5sum", "sha256sum", "du"}
    | {"realpath", "readlink", "basename", "dirname", "pgrep", "pkill", "killall", "ps", "lsof", "hash", "command", "export", "apt"}
    | {"apt-get", "yum", "dnf", "brew", "pip", "npm", "dpkg", "rpm", "awk", "sed", "tee", "touch", "diff", "cmp", "fgrep", "rg", "git"}
    | {"kill", "sort", "cut", "tr", "seq", "jobs", "set", "unset", "declare", "local", "alias", "rename", "rsync", "scp", "tar", "zip"}
)


def network_shells(command: Invocation) -> Iterator[str]:
    """Yield why `command` hands a shell to another machine, or waits for one that asks."""
    name, words = command.name, command.words
    for redirect in command.redirects:
        if re.match(r"^/dev/(?:tcp|udp)/", redirect.target.text):
            yield f"opens a network connection through {redirect.target.text}"
    if any(re.match(r"^/dev/(?:tcp|udp)/", word) for word in words):
        yield "opens a network connection through /dev/tcp"
    if name in _NETCATS and (letters(words) & {"e", "c"} or has_long(words, "--exec", "--sh-exec", "--lua-exec", "--lua")):
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
    shell = [w for w in words if w.split() and program_name(w.split()[0]) in SHELLS and (w[:1] == "/" or w.split()[0] in SHELLS)]
    if not shell or command.name in ("ssh", "docker", "podman", "kubectl", "timeout", "nice", "xargs", "find", "env", "watch", "chroot"):
        return False
    host = [w for w in words if re.match(r"^(?:[a-z]\w*:/*)?(?:\d{1,3}(?:\.\d{1,3}){3}|[\w-]+(?:\.[\w-]+)+)(?::\w+)?$", w) and w not in shell]
    port = [w for w in words if re.fullmatch(r"\d{2,5}", w)]
    return bool(port) and (bool(host) or bool(letters(words) & {"l", "s", "p"}))
