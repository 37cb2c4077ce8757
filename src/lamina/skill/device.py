"""Raw devices and the programs that make, wipe or partition file systems."""

from collections.abc import Iterator

from lamina.skill.invocation import Invocation
from lamina.skill.path import BLOCK_DEVICE, POWER
from lamina.skill.program import has_long, letters, operands

_MAKERS = frozenset(
    {"mkfs", "mke2fs", "mkswap", "mkdosfs", "mkntfs", "newfs", "wipefs", "blkdiscard", "cfdisk", "mkudffs", "nwipe", "dban", "scrub"}
    | {"pvcreate", "pvremove", "vgremove", "lvremove", "zpool", "mdadm", "sgdisk", "gdisk", "sfdisk", "fdisk", "parted", "hdparm"}
    | {"cryptsetup", "badblocks", "debugfs", "tune2fs", "dmsetup", "losetup"}
)
_LOOKING = frozenset(
    {"-l", "--list", "print", "status", "list", "--help", "-h", "--version", "-V", "-I", "-i", "-t", "-T", "info", "-a", "-v", "-s", "--detail"}
)
_ALWAYS = frozenset({"mkfs", "mke2fs", "mkswap", "mkdosfs", "mkntfs", "newfs", "blkdiscard", "nwipe", "pvremove", "vgremove", "lvremove"})


def devices(command: Invocation) -> Iterator[str]:
    """Yield why `command` is a danger to disks."""
    name, words = command.name, command.words
    for redirect in command.redirects:
        if BLOCK_DEVICE.match(redirect.target.text):
            yield f"{'reads' if redirect.operator == '<' else 'writes'} the raw device {redirect.target.text}"
    if name.startswith("mkfs.") or name in _ALWAYS:
        yield f"makes or wipes a file system with {name}"
    elif name in _MAKERS and not _LOOKING & set(words) and (name == "wipefs" or any("/dev/" in word for word in words)):
        yield f"changes a disk with {name}"
    elif name in ("dd", "dcfldd", "dc3dd"):
        yield from _dd(words)
    elif name in ("tee", "cp", "mv", "install", "cat", "shred", "truncate", "strings", "xxd", "od", "pv", "gzip", "tar", "ln", "dd_rescue"):
        for path in operands(words):
            if BLOCK_DEVICE.match(path):
                yield f"touches the raw device {path}"
    elif name == "rm" and any(word.startswith("/dev/") and not word.startswith("/dev/shm/") for word in words):
        yield "deletes a device"
    elif name in ("insmod", "kexec") or (name == "modprobe" and "-r" not in letters(words) and not has_long(words, "--show-depends")):
        yield f"loads code into the kernel with {name}"


def _dd(words: tuple[str, ...]) -> Iterator[str]:
    for word in words:
        side, sign, path = word.partition("=")
        if not sign or side not in ("if", "of"):
            continue
        if BLOCK_DEVICE.match(path) or (side == "of" and POWER.search(path)):
            yield f"dd {'reads' if side == 'if' else 'writes'} {path}"
