"""What a command shows: tables for people, one JSON document for programs, errors apart from both.

Text of memories is untrusted. It is never read as markup, and control characters in it, which could drive the
reader's terminal, are shown as symbols.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, TextIO

from rich.console import Console, RenderableType
from rich.text import Text

from lamina.errors import LaminaError

NEXT_STEPS = {
    "INVALID_INPUT": "Correct the value and run the command again.",
    "INVALID_LAYER": "Name one of the seven layers with --layer.",
    "MISSING_IDENTIFIER": "Say whose memory it is, for instance --user NAME or --project NAME.",
    "CONTENT_TOO_LONG": "Split the text, or raise memory.max_content_length in the configuration.",
    "QUERY_TOO_LONG": "Ask a shorter question.",
    "REQUEST_TOO_LARGE": "Send less at once, or raise server.max_body_mb in the configuration.",
    "INVALID_FILTER": 'Write the filter as JSON, for instance --where \'{"priority": {"gte": 2}}\'.',
    "INVALID_CURSOR": "Run the listing again without --cursor.",
    "MEMORY_NOT_FOUND": "Check the id, and that the identifiers you gave reach it.",
    "KNOWLEDGE_NOT_FOUND": "Check the key; `lamina knowledge list` shows them all.",
    "REFERENCE_NOT_FOUND": "Check the name; `lamina reference list` shows them all.",
    "LEARNING_NOT_FOUND": "Check the id; `lamina learning list` shows them all.",
    "SESSION_NOT_FOUND": "Check the key; `lamina session list` shows them all.",
    "RECEIPT_NOT_FOUND": "`lamina context receipts` lists what is stored; context.store_receipts turns storing on.",
    "QUARANTINE_NOT_FOUND": "`lamina quarantine list --all` shows every case and its id.",
    "SKILL_NOT_FOUND": "`lamina skill list` names those there are.",
    "SKILL_NOT_ACTIVE": "Look at it with `lamina skill show NAME`, then `lamina skill approve NAME`.",
    "SKILL_FAILED": "Correct the skill or its arguments; `lamina skill show NAME` prints both.",
    "SCRIPT_REFUSED": "Rewrite the lines named above; `lamina skill check FILE` tries a script without keeping it.",
    "KEY_NOT_FOUND": "`lamina key list --all` shows every key and its id.",
    "UNAUTHORIZED": "Check the credentials; `lamina config show` says which variable holds the key.",
    "FORBIDDEN": "Use a key that may do this; `lamina key list` shows what each may.",
    "CONFLICT": "Look at what is there now, then decide and run the command again.",
    "CONFIGURATION_ERROR": "`lamina config show` prints every setting and where it came from.",
    "PROVIDER_ERROR": "Try again; `lamina doctor` looks for the cause.",
    "RATE_LIMITED": "Wait a little, then run the command again.",
    "MODEL_FAILED": "Try again; check llm.model and llm.base_url.",
    "EMBEDDING_FAILED": "Try again; `lamina doctor` tests the embedder.",
    "TIMEOUT": "Try again; `lamina doctor` looks for the cause.",
}
"""What to do after an error, by its code."""

_BY_REASON = {
    "not_a_store": "Check the path; `lamina config show database` says where it came from.",
    "corrupt": "`lamina doctor` says what is damaged; a backup is opened with --store.",
    "disk_full": "Free some space and run the command again.",
    "read_only": "Make the file and its folder writable, or copy the store to a place that is.",
    "cannot_open": "Check that the folder exists and that you may write to it.",
    "locked": "Another process is writing for long; run the command again when it is done.",
    "connection": "Check that the server runs and that the address is right.",
    "other_model": "`lamina reembed` moves the store to the configured model; --embedder names another.",
}
"""What to do where the code alone does not say it."""

_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"}
_UNPICTURED = [*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_PICTURES |= {0x7F: 0x2421} | dict.fromkeys(_UNPICTURED, 0xFFFD)
_ESCAPES = {code: f"\\u{code:04x}" for code in [0x7F, *_UNPICTURED]}


def plain(text: str, style: str = "") -> Text:
    """Untrusted text, safe to show: no markup, control characters as symbols."""
    return Text(text.translate(_PICTURES), style=style)


def one_line(text: str, style: str = "") -> Text:
    """Untrusted text on one line."""
    return plain(" ".join(text.split()), style)


def as_json(document: object, *, narrow: bool, indent: int | None = None) -> str:
    """A document whose strings read back the same; what could drive a terminal is escaped."""
    return json.dumps(document, ensure_ascii=narrow, indent=indent).translate(_ESCAPES)


def next_step(error: LaminaError) -> str:
    """What to do after this error."""
    reason = "other_model" if "stored_dimensions" in error.details else str(error.details.get("reason"))
    step = error.details.get("next") or _BY_REASON.get(reason) or _missing(error) or NEXT_STEPS.get(error.code)
    return str(step or "`lamina doctor` looks for the cause.")


def _missing(error: LaminaError) -> str | None:
    """The options that give what a layer needs; None where there is a choice."""
    missing = error.details.get("missing") if "layer" in error.details else None
    if not isinstance(missing, list):
        return None
    options = " ".join(f"--{str(name).removesuffix('_id')} NAME" for name in missing)
    return f"Say whose memory it is: {options}."


def is_narrow(stream: TextIO) -> bool:
    """Whether a stream cannot carry every character."""
    return not (stream.encoding or "").lower().replace("-", "").startswith("utf")


class Progress(Protocol):
    """Told how far some work is; a total of None is unknown."""

    def __call__(self, done: int, total: int | None) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Where a command's words go. Standard output carries the result and nothing else."""

    json: bool = False
    quiet: bool = False

    @property
    def console(self) -> Console:
        """Standard output, for the result."""
        return Console(file=sys.stdout, highlight=False)

    @property
    def notes(self) -> Console:
        """Standard error, for everything that is not the result."""
        return Console(file=sys.stderr, highlight=False, quiet=self.quiet)

    def show(self, document: object, *renderables: RenderableType) -> None:
        """The result: `document` as JSON with --json, else what people read."""
        if self.json:
            print(as_json(document, narrow=is_narrow(sys.stdout), indent=2))
            return
        for one in renderables:
            # Plain text is not folded: paths, ids and commands in it are there to be copied.
            shown = plain(one) if isinstance(one, str) else one
            self.console.print(shown, soft_wrap=isinstance(shown, Text))

    def note(self, text: str) -> None:
        """A remark for a person; silent with --quiet and --json."""
        if not self.json:
            self.notes.print(plain(text, "dim"), soft_wrap=True)

    def fail(self, error: LaminaError) -> None:
        """The error with its code and what to do next, on standard error."""
        step = next_step(error)
        if self.json:
            details = {name: value for name, value in error.details.items() if name != "next"}
            document = {"error": {**error.to_dict(), "details": details, "next": step}}
            print(as_json(document, narrow=is_narrow(sys.stderr)), file=sys.stderr)
            return
        console = Console(file=sys.stderr, highlight=False)
        console.print(Text.assemble((error.code, "bold red"), "  ", plain(error.message)), soft_wrap=True)
        console.print(Text.assemble(("next", "bold"), "  ", plain(step)), soft_wrap=True)

    @contextmanager
    def progress(self, label: str) -> Iterator[Progress]:
        """A bar on standard error while the block runs; nothing there with --quiet or --json."""
        # Imported here: the bar is a tenth of the start-up time, and most commands show none.
        from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        console = Console(file=sys.stderr, highlight=False)
        hidden = self.json or self.quiet or not console.is_terminal
        with Bar(*columns, TimeRemainingColumn(), console=console, disable=hidden, transient=True) as bar:
            task = bar.add_task(label, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
