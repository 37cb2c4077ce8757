"""What a command would start besides itself: the program behind `env`, `timeout`, `xargs`, `find -exec`, `sh -c`."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lamina.skill.invocation import UNKNOWN, Field
from lamina.skill.program import SHELLS, skip_options


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """One thing a command starts: a program with arguments, or a text that a shell runs."""

    argv: tuple[Field, ...] = ()
    script: Field | None = None
    arguments: tuple[Field, ...] = ()


# Programs that run the rest of their arguments: short options with a value, words to skip before the program.
_PREFIXES: dict[str, tuple[str, int]] = {
    "nohup": ("", 0), "time": ("fo", 0), "timeout": ("ks", 1), "nice": ("n", 0), "ionice": ("cnpPu", 0),
    "stdbuf": ("ioe", 0), "setsid": ("", 0), "command": ("", 0), "builtin": ("", 0), "exec": ("a", 0),
    "sudo": ("ugpCcrtThUDR", 0), "doas": ("uC", 0), "pkexec": ("", 0), "chroot": ("", 1), "unshare": ("SGRw", 0),
    "nsenter": ("tSGr", 0), "strace": ("aeEIoOpPsSuUbX", 0), "ltrace": ("aeFlnopsuxADw", 0), "busybox": ("", 0),
    "toybox": ("", 0), "taskset": ("p", 1), "chrt": ("TPD", 1), "setarch": ("", 1), "linux32": ("", 0),
    "linux64": ("", 0), "catchsegv": ("", 0), "torify": ("", 0), "torsocks": ("", 0), "proxychains": ("f", 0),
    "proxychains4": ("f", 0), "unbuffer": ("", 0), "rlwrap": ("acCDfgHlmNopPqrsStwz", 0),
    "dbus-run-session": ("", 0), "systemd-run": ("tpEMHu", 0), "firejail": ("", 0), "faketime": ("f", 1),
    "cpulimit": ("lepP", 0), "numactl": ("iNCmpl", 0), "eatmydata": ("", 0), "fakeroot": ("lfsib", 0),
    "setpriv": ("", 0), "aa-exec": ("pn", 0), "chpst": ("ubUmodfcrt", 0), "softlimit": ("mdslofctr", 0),
    "prlimit": ("", 0), "choom": ("np", 0), "uclampset": ("mM", 0), "ld.so": ("", 0),
    "ld-linux-x86-64.so.2": ("", 0), "valgrind": ("", 0), "perf": ("e", 1), "hyperfine": ("", 0), "entr": ("", 0),
    "multitime": ("n", 0), "runuser": ("ugG", 0), "start-stop-daemon": ("xnpucagRdr", 0),
    "daemonize": ("acelopu", 0), "sg": ("", 1), "coproc": ("", 0), "distcc": ("", 0), "ccache": ("", 0),
    "logsave": ("", 1), "gosu": ("", 1), "su-exec": ("", 1), "nsjail": ("", 0), "pidstat": ("e", 0),
    "cgexec": ("g", 0), "trickle": ("dustlwL", 0),
}  # fmt: skip
_SKIP_NUMBER = frozenset({"busybox", "toybox"})


def inside(name: str, argv: tuple[Field, ...]) -> tuple[Inside, ...]:
    """Return what the program `name` with `argv` would start besides itself."""
    special = _SPECIAL.get(name)
    if special:
        return tuple(one for one in special(argv) if one.argv or one.script)
    if name in SHELLS:
        return _shell(argv)
    if name in _PREFIXES:
        valued, skipped = _PREFIXES[name]
        at = skip_options(argv, 1, valued=valued) + skipped
        while at < len(argv) and skipped and argv[at].text.startswith("-"):
            at += 1
        return (Inside(argv=argv[at:]),) if at < len(argv) else ()
    return ()


def _shell(argv: tuple[Field, ...]) -> tuple[Inside, ...]:
    at = 1
    command = False
    while at < len(argv) and len(argv[at].text) > 1 and argv[at].text[0] in "-+":
        word = argv[at].text
        if word == "--":
            at += 1
            break
        if word in ("--rcfile", "--init-file", "-o", "+o", "-O", "+O"):
            at += 1
        elif (not word.startswith("--") and "c" in word) or word in ("--command",):
            command = True
        at += 1
    if command and at < len(argv):
        return (Inside(script=argv[at], arguments=argv[at + 1 :]),)
    return ()


def _env(argv: tuple[Field, ...]) -> tuple[Inside, ...]:
    at = 1
    while at < len(argv):
        word = argv[at].text
        if word.startswith(("-S", "--split-string")):
            text = word[2:] if word.startswith("-S") and len(word) > 2 else word.partition("=")[2]
            if not text and at + 1 < len(argv):
                at += 1
                text = argv[at].text
            return (Inside(script=Field(text=" ".join([text, *(one.text for one in argv[at + 1 :])]))),)
        if word in ("-u", "-C", "--unset", "--chdir"):
            at += 2
        elif word.startswith("-") or re.match(r"^\w+=", word):
            at += 1
        else:
            break
    return (Inside(argv=argv[at:]),)


def _xargs(argv: tuple[Field, ...]) -> tuple[Inside, ...]:
    longs = (
        "--arg-file",
        "--delimiter",
        "--max-lines",
        "--max-args",
        "--max-procs",
        "--max-chars",
        "--process-slot-var",
    )
    at = skip_options(argv, 1, valued="IdELnPsaJR", long_valued=longs)
    return (Inside(argv=argv[at:]),)


def _find(argv: tuple[Field, ...]) -> tuple[Inside, ...]:
    found: list[Inside] = []
    at = 1
    while at < len(argv):
        if argv[at].text in ("-exec", "-execdir", "-ok", "-okdir"):
            end = at + 1
            while end < len(argv) and argv[end].text not in (";", "+"):
                end += 1
            found.append(Inside(argv=argv[at + 1 : end]))
            at = end
        at += 1
    return tuple(found)


def _fd(argv: tuple[Field, ...]) -> tuple[Inside, ...]:
    for at, one in enumerate(argv):
        if one.text in ("-x", "-X", "--exec", "--exec-batch"):
            return (Inside(argv=argv[at + 1 :]),)
    return ()


def _eval(argv: tuple[Field, ...]) -> tuple[Inside, ...]:
    return (Inside(script=_joined(argv[1:])),)


def _joined(argv: Sequence[Field]) -> Field:
    return Field(text=" ".join(one.text for one in argv), inner=tuple(i for one in argv for i in one.inner))


def _trap(argv: tuple[Field, ...]) -> tuple[Inside, ...]:
    return (Inside(script=argv[1]),) if len(argv) > 2 and not argv[1].text.startswith("-") else ()


def _su(argv: tuple[Field, ...]) -> tuple[Inside, ...]:
    for at, one in enumerate(argv):
        if one.text in ("-c", "--command") and at + 1 < len(argv):
            return (Inside(script=argv[at + 1]),)
        if one.text.startswith("--command="):
            return (Inside(script=Field(text=one.text.partition("=")[2], inner=one.inner)),)
    return ()


def _ssh(argv: tuple[Field, ...]) -> tuple[Inside, ...]:
    at = skip_options(argv, 1, valued="bcDEeFIiJLlmOopQRSWw") + 1
    found = [Inside(script=_joined(argv[at:]))] if at < len(argv) else []
    for place, one in enumerate(argv):
        text = argv[place + 1].text if one.text == "-o" and place + 1 < len(argv) else one.text.removeprefix("-o")
        local = re.match(
            r"^\s*(?:ProxyCommand|LocalCommand|KnownHostsCommand)[=\s]+(.*)$", text, re.IGNORECASE | re.DOTALL
        )
        if local:
            found.append(Inside(script=Field(text=local[1].lstrip(";"), inner=one.inner)))
    return tuple(found)


def _watch(argv: tuple[Field, ...]) -> tuple[Inside, ...]:
    at = skip_options(argv, 1, valued="n", long_valued=("--interval",))
    return (Inside(script=_joined(argv[at:])),) if at < len(argv) else ()


def _multiplexer(argv: tuple[Field, ...]) -> tuple[Inside, ...]:
    at = 1
    while at < len(argv):
        word = argv[at].text
        if word in ("-S", "-s", "-t", "-n", "-c", "-L", "-f", "-x", "-y", "-p", "-e", "-T", "-h"):
            at += 2
        elif word.startswith("-") or word in (
            "new",
            "new-session",
            "neww",
            "new-window",
            "split-window",
            "run-shell",
            "run",
        ):
            at += 1
        else:
            break
    rest = argv[at:]
    # One word is a command line for a shell; several are a program and its arguments.
    return (Inside(script=rest[0]) if len(rest) == 1 else Inside(argv=rest),) if rest else ()


def _flock(argv: tuple[Field, ...]) -> tuple[Inside, ...]:
    at = skip_options(argv, 1, valued="wE") + 1
    if at < len(argv) and argv[at].text in ("-c", "--command"):
        return (Inside(script=argv[at + 1]),) if at + 1 < len(argv) else ()
    return (Inside(argv=argv[at:]),)


def _parallel(argv: tuple[Field, ...]) -> tuple[Inside, ...]:
    at = skip_options(
        argv, 1, valued="jSIanNLdC", long_valued=("--jobs", "--delay", "--joblog", "--colsep", "--results")
    )
    words: list[Field] = []
    for one in argv[at:]:
        if one.text.startswith(":::"):
            break
        words.append(one)
    given = [one for one in argv[at + len(words) :] if not one.text.startswith(":::")]
    if not words:
        return tuple(Inside(script=one) for one in given)
    runs = given or [Field(text=UNKNOWN)]
    return tuple(Inside(script=_joined([*words, one])) for one in runs)


def _script(argv: tuple[Field, ...]) -> tuple[Inside, ...]:
    return _su(argv) or tuple(
        Inside(script=Field(text=one.text[at + 1 :], inner=one.inner))
        for one in argv[1:]
        if one.text.startswith("-") and (at := one.text.find("c")) > 0 and at + 1 < len(one.text)
    )


def _git(argv: tuple[Field, ...]) -> tuple[Inside, ...]:
    found: list[Inside] = []
    words = [one.text for one in argv]
    if "bisect" in words and "run" in words:
        found.append(Inside(argv=argv[words.index("run") + 1 :]))
    for one in argv[1:]:
        aliased = re.match(
            r"^(?:alias\.[\w-]+|core\.(?:sshCommand|pager|editor)|\w+\.textconv)=!?(.*)$", one.text, re.DOTALL
        )
        if aliased:
            found.append(Inside(script=Field(text=aliased[1], inner=one.inner)))
    for at, word in enumerate(words[:-1]):
        if word in ("-x", "--exec", "--tree-filter", "--index-filter", "--msg-filter") and {
            "rebase",
            "filter-branch",
        } & set(words):
            found.append(Inside(script=argv[at + 1]))
    return tuple(found)


def _docker(argv: tuple[Field, ...]) -> tuple[Inside, ...]:
    for at, one in enumerate(argv):
        if one.text in SHELLS or one.text.rsplit("/", 1)[-1] in SHELLS:
            return (Inside(argv=argv[at:]),) if at + 1 < len(argv) else ()
    return ()


_SPECIAL: dict[str, Callable[[tuple[Field, ...]], tuple[Inside, ...]]] = {
    "env": _env, "xargs": _xargs, "find": _find, "fd": _fd, "fdfind": _fd, "eval": _eval, "trap": _trap, "su": _su,
    "ssh": _ssh, "watch": _watch, "tmux": _multiplexer, "screen": _multiplexer, "flock": _flock, "parallel": _parallel,
    "script": _script, "git": _git, "docker": _docker, "podman": _docker, "kubectl": _docker,
}  # fmt: skip
