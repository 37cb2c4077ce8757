"""What a command leaves behind for later ones: the folder, aliases, variables read, and files written."""

import re
from dataclasses import dataclass, field

from lamina.skill.invocation import UNKNOWN, Field, Invocation
from lamina.skill.output import output_of
from lamina.skill.program import DOWNLOADERS, INTERPRETERS, SHELLS, operands, option_value
from lamina.skill.words import HOME


@dataclass(slots=True)
class Flow:
    """The state that moves along with the script."""

    folder: str | None = None
    aliases: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A file the script made: the commands its content comes from, and the content where it is literal."""

    sources: tuple[Invocation, ...]
    text: str | None


class Files:
    """The files a script has written so far, by path."""

    def __init__(self) -> None:
        self._written: dict[str, Written] = {}

    def put(self, path: str, sources: tuple[Invocation, ...], text: str | None) -> None:
        """Remember that `path` now holds what `sources` printed, added to what it held before."""
        key = _key(path)
        old = self._written.get(key)
        if old is not None:
            sources = (*old.sources, *sources)
            text = None if text is None or old.text is None else old.text + "\n" + text
        self._written[key] = Written(sources=sources, text=text)

    def copy(self, old: str, new: str) -> None:
        """Remember that `new` holds what `old` holds."""
        if _key(old) in self._written:
            self._written[_key(new)] = self._written[_key(old)]

    def text(self, path: str) -> str | None:
        """Return the content of `path` where the script itself wrote it literally."""
        written = self._written.get(_key(path))
        return written.text if written else None

    def sources(self, path: str) -> tuple[Invocation, ...]:
        """Return the commands that the content of `path` comes from."""
        written = self._written.get(_key(path))
        return written.sources if written else ()

    def scripts_run_by(self, invocation: Invocation) -> list[str]:
        """Return the literal shell texts that `invocation` reads and runs: its input, a file it is given, itself."""
        texts: list[str | None] = []
        if invocation.name in SHELLS:
            files = _script_files(invocation)
            texts.extend(self.text(path) for path in files)
            if not files:
                texts.append(invocation.stdin)
        elif invocation.name in (".", "source"):
            texts.extend(self.text(path) for path in invocation.words[:1])
            if invocation.words[:1] in (("/dev/stdin",), ("-",)):
                texts.append(invocation.stdin)
        elif invocation.name in ("at", "batch", "parallel"):
            texts.append(invocation.stdin)
        elif invocation.argv:
            text = self.text(invocation.argv[0].text)
            texts.append(text if text and not re.match(r"#!.*(python|perl|ruby|node|php)", text) else None)
        return [text for text in texts if text]


def _key(path: str) -> str:
    return path.removeprefix("./").rstrip("/")


def _script_files(invocation: Invocation) -> list[str]:
    words = list(invocation.words)
    if any(re.fullmatch(r"-[a-zA-Z]*c", word) for word in words):
        return []
    found = operands(words, valued="oO", long_valued=("--rcfile", "--init-file"))
    return [path for path in found[:1] if path not in ("-", "/dev/stdin")]


def executed_by(invocation: Invocation, files: Files) -> tuple[Invocation, ...]:
    """Return the commands whose output `invocation` runs as code."""
    if not invocation.argv:
        return ()
    name = invocation.name
    found: list[Invocation] = [c for one in invocation.argv[0].inner for c in one.commands]
    found.extend(files.sources(invocation.argv[0].text))
    runs_arguments = (
        name in SHELLS or name in INTERPRETERS or name in ("eval", ".", "source", "go", "java", "gcc", "cc", "env")
    )
    if runs_arguments:
        code = invocation.argv[1:] if name == "eval" else _code_arguments(invocation)
        found.extend(c for one in code for i in one.inner if i.kind != "write" for c in i.commands)
        for one in invocation.argv[1:]:
            found.extend(files.sources(one.text))
        found.extend(c for r in invocation.redirects if "<" in r.operator for i in r.target.inner for c in i.commands)
        for redirect in invocation.redirects:
            if redirect.operator == "<":
                found.extend(files.sources(redirect.target.text))
    if name == "eval" or name in ("at", "batch") or (runs_arguments and _reads_code(invocation)):
        found.extend(invocation.upstream)
    return tuple(found)


def _code_arguments(invocation: Invocation) -> tuple[Field, ...]:
    argv = invocation.argv
    for at, one in enumerate(argv[1:], start=1):
        if re.fullmatch(r"-[a-zA-Z]*[cerE]|--eval|--command", one.text):
            return argv[at + 1 : at + 2]
        if not one.text.startswith("-"):
            return argv[at : at + 1]
    return ()


def _reads_code(invocation: Invocation) -> bool:
    """Say whether the interpreter takes its program from its standard input (or from what xargs hands it)."""
    words = invocation.words
    if "xargs" in invocation.via or "parallel" in invocation.via:
        return (invocation.name in SHELLS and any(UNKNOWN in word or "{}" in word for word in words)) or not words
    if invocation.name in (".", "source"):
        return words[:1] in (("/dev/stdin",), ("-",))
    if any(re.fullmatch(r"-[a-zA-Z0-9]*[ceEnpr]|--eval|--command|-m|-f|-jar", word) for word in words):
        return False
    if invocation.name.endswith("awk"):
        return False
    found = [word for word in operands(words) if word not in ("-", "/dev/stdin")]
    return not found or "-s" in words


def apply_effects(invocation: Invocation, flow: Flow, files: Files) -> list[str]:
    """Carry over what `invocation` leaves behind; return the variables it reads values into."""
    words = invocation.words
    sources = (invocation, *invocation.upstream)
    for redirect in invocation.redirects:
        if redirect.operator in (">", ">>", "&>", ">|", "&>>"):
            files.put(redirect.target.text, sources, output_of(sources[::-1] if len(sources) == 2 else sources[:1]))
    match invocation.name:
        case "cd" | "pushd":
            flow.folder = _folder(words, flow.folder)
        case "alias":
            for word in words:
                name, sign, text = word.partition("=")
                if sign:
                    flow.aliases[name] = text
        case "unalias":
            flow.aliases.clear()
        case "tee":
            for path in operands(words):
                files.put(path, sources, invocation.stdin)
        case "cp" | "mv" | "ln":
            given = operands(words)
            if len(given) == 2:
                files.copy(given[0], given[1])
        case "read" | "mapfile" | "readarray":
            return [word for word in operands(words, valued="adinNptuCcO") if re.fullmatch(r"\w+", word)] or ["REPLY"]
        case name if name in DOWNLOADERS:
            for path in _downloaded(name, words):
                files.put(path, sources, None)
    return []


def _folder(words: tuple[str, ...], before: str | None) -> str | None:
    given = operands(words)
    if not given:
        return HOME
    target = given[0]
    if target.startswith("/"):
        return target
    if UNKNOWN in target or target == "-":
        return None
    return f"{before}/{target}" if before else None


def _downloaded(name: str, words: tuple[str, ...]) -> list[str]:
    explicit = (
        option_value(words, "-O", "--output-document")
        if name == "wget"
        else option_value(words, "-o", "--output", "--out")
    )
    if explicit and explicit != "-":
        return [explicit]
    if name in ("scp", "rsync"):
        return operands(words)[-1:]
    if (
        name == "wget"
        or "-O" in words
        or "--remote-name" in words
        or any(re.fullmatch(r"-\w*O\w*", word) for word in words)
    ):
        return [word.rstrip("/").rsplit("/", 1)[-1].split("?")[0] for word in operands(words) if "/" in word]
    return []
