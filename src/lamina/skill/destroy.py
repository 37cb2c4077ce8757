"""Recursive deletes, raw devices, and the programs that make or wipe file systems."""

import re
from collections.abc import Iterator, Sequence

from lamina.skill.invocation import UNKNOWN, Field, Invocation
from lamina.skill.path import BLOCK_DEVICE, POWER, TRACES, absolute, system_folder, untouchable
from lamina.skill.program import has_long, letters, operands

_DELETERS = frozenset({"rm", "srm", "rimraf", "wipe", "trash", "trash-put", "gio"})
_PICKING = frozenset({
    "-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-newer", "-mtime", "-atime", "-ctime",
    "-mmin", "-amin", "-cmin", "-newermt", "-user", "-group", "-empty", "-inum", "-samefile", "-lname", "-size",
    "-links", "-xtype", "-used"
})  # fmt: skip
_ACTIONS = frozenset({"-delete", "-exec", "-execdir", "-ok", "-okdir"})
_CHOOSING = frozenset({"grep", "egrep", "fgrep", "rg", "git", "mktemp", "head", "tail", "uniq", "comm", "cut", "fzf"})


def deletes(command: Invocation) -> Iterator[str]:
    """Yield why the deletes that `command` makes are not acceptable."""
    name = command.name
    if name in _DELETERS:
        yield from _removes(command)
    elif name == "find":
        yield from _finds(command)
    elif name in ("chmod", "chown", "chgrp") and _recursive(command.words):
        targets = operands(command.words)[0 if has_long(command.words, "--reference") else 1 :]
        yield from (f"changes rights of all of {t}" for t in targets if system_folder(t, command.folder))
    elif name == "mv":
        given = operands(command.words)
        if len(given) > 1 and (given[-1] == "/dev/null" or any(_whole(path) for path in given[:-1])):
            yield from (f"moves {path} away" for path in given[:-1] if untouchable(path, command.folder))
    elif name == "rsync" and has_long(
        command.words, "--delete", "--delete-before", "--delete-after", "--delete-excluded"
    ):
        yield from (f"empties {path}" for path in operands(command.words)[-1:] if system_folder(path, command.folder))
    elif name in ("shred", "truncate", "unlink"):
        yield from _overwrites(command)
    elif not name and command.argv and UNKNOWN in command.argv[0].text:
        yield from _hidden(command)


def _recursive(words: Sequence[str]) -> bool:
    return (
        bool(letters(words) & {"r", "R"})
        or has_long(words, "--recursive")
        or any(UNKNOWN in w and w[:1] == "-" for w in words)
    )


def _removes(command: Invocation) -> Iterator[str]:
    given = set(operands(command.words))
    targets = [one for one in command.argv[1:] if one.text in given]
    recursive = _recursive(command.words) or command.name in ("rimraf", "trash", "trash-put")
    if command.name == "gio" and "trash" not in command.words:
        return
    for target in targets:
        reason = _why(target, command) if recursive else _why_file(target.text, command.folder)
        if reason:
            yield f"deletes {reason}: {target.text.replace(UNKNOWN, '…')}"
    if recursive and not targets and {"xargs", "parallel"} & set(command.via):
        reason = _source(command.upstream)
        if reason:
            yield f"deletes {reason}"


def _why(target: Field, command: Invocation) -> str | None:
    if "{}" in target.text and {"find", "fd", "fdfind"} & set(command.via):
        return None
    unknown_start = target.text.startswith(UNKNOWN)
    if unknown_start and target.inner:
        made = tuple(c for one in target.inner for c in one.commands)
        return _source(made) if made else None
    if unknown_start and command.upstream:
        return _source(command.upstream)
    if target.text == "{}" and command.upstream:
        return _source(command.upstream)
    return untouchable(target.text, command.folder)


def _why_file(path: str, folder: str | None) -> str | None:
    short = absolute(path, folder)
    if POWER.search(short):
        return "a file the system needs"
    if TRACES.search(short):
        return "traces of what was done"
    if short.endswith("/*") and system_folder(short[:-2] or "/"):
        return "all files of a system folder"
    return None


def _source(commands: Sequence[Invocation]) -> str | None:
    """Say why the names that `commands` print are not acceptable to delete recursively."""
    if any(one.name in _CHOOSING for one in commands):
        return None
    for one in commands:
        given = operands(one.words)
        if one.name == "pwd":
            return "the folder itself"
        if one.name == "ls" and (not given or any(untouchable(path, one.folder) for path in given)):
            return "everything that is listed"
        if one.name == "find" and _wide(one):
            return "everything that is found"
        if one.name in ("echo", "printf", "readlink", "realpath"):
            bad = next((reason for path in given if (reason := untouchable(path, one.folder))), None)
            if bad:
                return bad
    return None


def _starts(words: Sequence[str]) -> list[str]:
    starts: list[str] = []
    for word in words:
        if word in ("-H", "-L", "-P") or re.match(r"^-(?:D|O\d?)$", word):
            continue
        if word.startswith(("-", "(", "!")):
            break
        starts.append(word)
    return starts or ["."]


def _wide(command: Invocation) -> bool:
    """Say whether a find goes over a place that is not the script's own and picks nothing in particular."""
    words = command.words
    risky = [start for start in _starts(words) if untouchable(start, command.folder)]
    if not risky:
        return False
    branches: list[list[str]] = [[]]
    for word in words:
        if word in ("-o", "-or", ","):
            branches.append([])
        else:
            branches[-1].append(word)
    acting = [branch for branch in branches if _ACTIONS & set(branch)]
    return not all(map(_picks, acting or branches))


def _picks(words: Sequence[str]) -> bool:
    """Say whether one branch of a find expression chooses files by what they are."""
    for at, word in enumerate(words):
        if word in _PICKING and words[max(0, at - 1)] not in ("!", "-not"):
            value = words[at + 1] if at + 1 < len(words) else ""
            if word == "-empty" or re.sub(r"[*?.\[\]/]", "", value):
                return True
    return False


def _finds(command: Invocation) -> Iterator[str]:
    words = command.words
    action = "-delete" in words
    for at, word in enumerate(words):
        if word in _ACTIONS - {"-delete"}:
            rest = words[at + 1 :]
            end = next((n for n, one in enumerate(rest) if one in (";", "+")), len(rest))
            action = action or bool(re.search(r"(?:^|[\s/;])(?:rm|unlink|shred|srm)\s", " ".join(rest[:end]) + " "))
    if action and _wide(command):
        yield f"deletes everything that find meets from {', '.join(_starts(words)).replace(UNKNOWN, '…')}"


def _overwrites(command: Invocation) -> Iterator[str]:
    for path in operands(command.words, valued="nsor"):
        reason = _why_file(path, command.folder)
        if not reason and command.name == "shred" and (_whole(path) or system_folder(path, command.folder)):
            reason = "everything in a folder"
        if reason:
            yield f"destroys {reason}: {path}"


def _whole(path: str) -> bool:
    return path in ("/", "/*", "~") or (path.endswith("/*") and system_folder(path[:-2]))


def _hidden(command: Invocation) -> Iterator[str]:
    """A program whose name the script hides, with the arguments of a recursive delete."""
    words = command.words
    force = letters(words) & {"r", "R"} and letters(words) & {"f"}
    if force and any(untouchable(path, command.folder) for path in operands(words)):
        yield "runs something hidden with the options of a recursive delete"


_MAKERS = frozenset({
    "mkfs", "mke2fs", "mkswap", "mkdosfs", "mkntfs", "newfs", "wipefs", "blkdiscard", "cfdisk", "mkudffs", "nwipe",
    "dban", "scrub", "pvcreate", "pvremove", "vgremove", "lvremove", "zpool", "mdadm", "sgdisk", "gdisk", "sfdisk",
    "fdisk", "parted", "hdparm", "cryptsetup", "badblocks", "debugfs", "tune2fs", "dmsetup", "losetup"
})  # fmt: skip
_LOOKING = frozenset({
    "-l", "--list", "print", "status", "list", "--help", "-h", "--version", "-V", "-I", "-i", "-t", "-T", "info",
    "-a", "-v", "-s", "--detail"
})  # fmt: skip
_ALWAYS = frozenset({
    "mkfs", "mke2fs", "mkswap", "mkdosfs", "mkntfs", "newfs", "blkdiscard", "nwipe", "pvremove", "vgremove",
    "lvremove"
})  # fmt: skip


def devices(command: Invocation) -> Iterator[str]:
    """Yield why `command` is a danger to disks."""
    name, words = command.name, command.words
    for redirect in command.redirects:
        if BLOCK_DEVICE.match(redirect.target.text):
            yield f"{'reads' if redirect.operator == '<' else 'writes'} the raw device {redirect.target.text}"
    if name.startswith("mkfs.") or name in _ALWAYS:
        yield f"makes or wipes a file system with {name}"
    elif name == "wipefs":
        if letters(words) & {"a", "o"} or has_long(words, "--all", "--offset"):
            yield "wipes the marks of a file system with wipefs"
    elif name in _MAKERS and not _LOOKING & set(words) and any("/dev/" in word for word in words):
        yield f"changes a disk with {name}"
    elif name in ("dd", "dcfldd", "dc3dd"):
        yield from _dd(words)
    elif name in (
        "tee",
        "cp",
        "mv",
        "install",
        "cat",
        "shred",
        "truncate",
        "strings",
        "xxd",
        "od",
        "pv",
        "gzip",
        "tar",
        "ln",
        "dd_rescue",
    ):
        for path in operands(words):
            if BLOCK_DEVICE.match(path):
                yield f"touches the raw device {path}"
    elif name == "rm" and any(word.startswith("/dev/") and not word.startswith("/dev/shm/") for word in words):
        yield "deletes a device"
    elif name in ("insmod", "kexec") or (
        name == "modprobe" and "-r" not in letters(words) and not has_long(words, "--show-depends")
    ):
        yield f"loads code into the kernel with {name}"


def _dd(words: tuple[str, ...]) -> Iterator[str]:
    for word in words:
        side, sign, path = word.partition("=")
        if not sign or side not in ("if", "of"):
            continue
        if BLOCK_DEVICE.match(path) or (side == "of" and POWER.search(path)):
            yield f"dd {'reads' if side == 'if' else 'writes'} {path}"
