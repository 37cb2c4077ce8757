"""Which paths a script of a skill has no business to delete, write, or read."""

import fnmatch
import posixpath
import re

from lamina.skill.invocation import UNKNOWN
from lamina.skill.words import HOME

_SCRATCH = ("/tmp", "/var/tmp", "/dev/shm", "/private/tmp")
_SYSTEM = re.compile(
    r"^/(?:bin|sbin|boot|dev|etc|home|lib\w*|media|mnt|opt|proc|root|run|srv|sys|usr|var|Users|System|Library|Applications|nix)"
    r"(?:/(?:bin|sbin|lib\w*|local|share|log|spool|cache|include|src|mail|[*.]+))?/?$"
)
_ONLY_WILD = re.compile(r"^[*?.\[\]!^{},@+()|-]+$")
BLOCK_DEVICE = re.compile(
    r"^/dev/(?:r?disk\d|[shv]d[a-z?*\[]|xvd|nvme|mmcblk|loop\d|dm-|md\d|mapper/|disk/|mem$|kmem$|port$|ram\d|nbd|zram|mtd|sg\d|\*|\?)"
)
SECRET = re.compile(
    r"(?:^|/)etc/(?:g?shadow-?|sudoers(?:\.d/\S*)?|master\.passwd|security/opasswd|krb5\.keytab|ssl/private/\S*|ssh/ssh_host_\w*key)$"
    r"|/\.ssh/(?:id_\w+|identity|\w*_?key|\*|[\w-]+\.pem)?$|/\.ssh$"
    r"|/\.(?:aws/credentials|aws/config|aws/?$|azure/|config/gcloud|kube/config|docker/config\.json|netrc|pgpass|git-credentials"
    r"|gnupg|my\.cnf|vault-token|npmrc|pypirc|password-store|mozilla/firefox|electrum|bitcoin)"
    r"|^/proc/[^/]*/(?:environ|mem|maps|root(?:/|$)|cwd/)|^/proc/(?!self/)[^/]*/fd/|^/proc/kcore|/wallet\.dat$"
    r"|/(?:Login Data|logins\.json|key[34]\.db)$|^/var/run/secrets/|^/run/secrets/"
)
_GLOBBED_SECRETS = (
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    HOME + "/.ssh/id_rsa",
    HOME + "/.aws/credentials",
    "/root/.ssh/id_rsa",
)
POWER = re.compile(
    r"^/etc/(?:passwd|shadow|gshadow|group|sudoers|sudoers\.d/.*|pam\.d/.*|ld\.so\.preload|ld\.so\.conf.*|login\.defs|security/.*"
    r"|polkit-1/.*|doas\.conf)$|^/proc/sys/kernel/|^/proc/sysrq-trigger|^/sys/kernel/|/release_agent$|^/proc/\d+/mem"
)
LASTING = re.compile(
    r"^/etc/(?:cron|anacrontab|rc\.local|init\.d/|rc\d?\.d/|profile\.d/|systemd/system(?:/|$)|xinetd|inittab|update-motd\.d/|ssh/sshd_config)"
    r"|^/var/spool/cron|/\.ssh/authorized_keys|/\.config/(?:autostart|systemd)/|^/(?:usr/)?lib/systemd/|/LaunchAgents/|/LaunchDaemons/"
)
TRACES = re.compile(
    r"/\.(?:bash|zsh|sh|ash|python|mysql|psql|lesshst|viminfo)_?history$|/\.(?:histfile|lesshst)$"
    r"|^/var/log/(?:\*|wtmp|btmp|lastlog|auth|secure|audit|syslog|messages|utmp|faillog|journal)|^/var/log/?$|^/var/run/utmp|^/run/log/journal"
)


def absolute(path: str, folder: str | None) -> str:
    """Return `path` in its shortest spelling, seen from `folder` where that is known."""
    joined = posixpath.join(folder, path) if folder and not path.startswith(UNKNOWN) else path
    short = posixpath.normpath(joined) if joined else ""
    return "/" + short.lstrip("/") if short.startswith("/") else short


def untouchable(path: str, folder: str | None = None) -> str | None:
    """Say why deleting `path` with everything below it is not acceptable; None when it is.

    What may go: something named inside the working folder, and something inside a scratch folder.
    """
    if path.startswith(UNKNOWN + "?"):
        return None
    if path.startswith(UNKNOWN):
        return "a place the script does not tell"
    short = absolute(path, folder)
    if short.startswith("/"):
        if any(short.startswith(scratch + "/") for scratch in _SCRATCH):
            return None
        return (
            "the root folder"
            if short in ("/", "/*")
            else "a home folder"
            if "home" in short
            else "a path outside the work folder"
        )
    first = short.split("/", 1)[0]
    if first == "..":
        return "a folder above"
    if short in (".", "") or _ONLY_WILD.match(first):
        return "everything in the folder"
    return None


def system_folder(path: str, folder: str | None = None) -> bool:
    """Say whether `path` is the root, a home, or a folder that belongs to the system as a whole."""
    short = absolute(path, folder)
    return short in ("/", "/*", HOME, HOME + "/*", "/root", "/root/*") or bool(_SYSTEM.match(short))


def is_secret(path: str) -> bool:
    """Say whether `path` holds credentials; a glob counts when it covers such a file."""
    if SECRET.search(path) and not path.endswith(".pub"):
        return True
    if not any(sign in path for sign in "*?[") or not path.startswith("/") or len(path.strip("/*?.")) < 4:
        return False
    return any(_covers(path, secret) for secret in _GLOBBED_SECRETS)


def _covers(pattern: str, path: str) -> bool:
    """Say whether a glob matches `path`; a star never crosses a slash."""
    wanted, found = pattern.split("/"), path.split("/")
    return len(wanted) == len(found) and all(map(fnmatch.fnmatchcase, found, wanted))
