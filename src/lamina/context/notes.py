"""Notes of the session in a prompt: read only when they changed, judged line by line, never cut in a line.

A suspicious line is marked or left out by itself, and always in the same way: patterns alone judge it, so that what a
prompt shows of a note is the same bytes in every turn.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lamina.context.rendering import WARNING, render_item
from lamina.context.suspicion import findings
from lamina.context.types import NOTES, ContextItem, ContextLayer, LayerRequest, Origin, Place
from lamina.database.engine import Database
from lamina.kernel.tokens import TokenCounter
from lamina.observation.choice import choose_notes
from lamina.observation.render import render_note
from lamina.observation.snapshot import Stamp, read_snapshot
from lamina.observation.types import Entry, Note, Speaker

_MOST_CHARACTERS = 2_000_000
_ORIGINS = {Speaker.USER: Origin.USER, Speaker.ASSISTANT: Origin.AGENT, Speaker.TOOL: Origin.TOOL}
_TRUST = (Origin.USER, Origin.AGENT, Origin.TOOL)


class KnownNotes:
    """Notes of recent sessions, ready to be shown, bounded by the size of their texts."""

    def __init__(self, *, characters: int = _MOST_CHARACTERS) -> None:
        self._known: OrderedDict[tuple[str, str], tuple[Stamp, tuple[ContextItem, ...]]] = OrderedDict()
        self._room = characters
        self._held = 0

    def get(self, key: tuple[str, str]) -> tuple[Stamp | None, tuple[ContextItem, ...]]:
        """What is known of a session, and its stamp; no stamp where nothing is."""
        return self._known.get(key, (None, ()))

    def keep(self, key: tuple[str, str], stamp: Stamp, items: tuple[ContextItem, ...]) -> None:
        """Remember a session's notes, and let go of those of the sessions that were not asked for longest."""
        self.drop(key)
        self._known[key] = (stamp, items)
        self._held += _size(items)
        while self._held > self._room and self._known:
            self._held -= _size(self._known.popitem(last=False)[1][1])

    def drop(self, key: tuple[str, str]) -> None:
        """Forget a session."""
        self._held -= _size(self._known.pop(key, (None, ()))[1])


def _size(items: Iterable[ContextItem]) -> int:
    return sum(len(item.content) for item in items)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteSource:
    """Reflections and observations of a session, the newest first; those of recent sessions stay in memory."""

    database: Database
    known: KnownNotes = field(default_factory=KnownNotes)

    async def retrieve(self, request: LayerRequest) -> Sequence[ContextItem]:
        """Every note of the request's session; none, and no question asked, without a session."""
        if request.session_key is None:
            return ()
        tenant, session_key = key = (request.tenant, request.session_key)
        stamp, items = self.known.get(key)
        found = await self.database.read(lambda link: read_snapshot(link, tenant, session_key, stamp))
        if found is None:
            self.known.drop(key)
            return ()
        if found.notes is not None:
            items = tuple(sorted(map(note_item, found.notes), key=_newest_first))
        self.known.keep(key, found.stamp, items)
        return items


def note_item(note: Note) -> ContextItem:
    """A note as an item, trusted as little as the least trusted of its entries."""
    origins = [_ORIGINS[entry.origin] for entry in note.entries]
    reasons = {reason for entry in note.entries for reason in _reasons(entry)}
    return ContextItem(
        layer=ContextLayer.REFLECTIONS if note.generation else ContextLayer.OBSERVATIONS,
        key=note.id,
        content=render_note(note),
        score=1.0,
        origin=max(origins, key=_TRUST.index, default=Origin.AGENT),
        session_key=note.session_key,
        at=note.created_at,
        suspicious=tuple(sorted(reasons)),
        note=note,
    )


def suspects(items: Iterable[ContextItem]) -> list[ContextItem]:
    """The suspicious entries of notes, each as an item of its own, to be looked up and decided about."""
    return [
        ContextItem(
            layer=item.layer,
            key=entry.id,
            content=entry.text,
            origin=_ORIGINS[entry.origin],
            session_key=item.session_key,
            at=entry.said_at,
            suspicious=reasons,
        )
        for item in items
        if item.note is not None and item.suspicious
        for entry in item.note.entries
        if (reasons := _reasons(entry))
    ]


def decided(item: ContextItem, *, marked: Collection[str], held: Collection[str]) -> ContextItem | None:
    """A note with these entries marked and those left out; None when nothing is left of it."""
    if item.note is None or not item.suspicious:
        return item
    entries = tuple(entry for entry in item.note.entries if entry.id not in held)
    if not entries:
        return None
    note = replace(item.note, entries=entries)
    shown = [entry for entry in entries if entry.id in marked]
    reasons = {reason for entry in shown for reason in _reasons(entry)}
    return replace(item, note=note, content=_marked(note, marked), suspicious=tuple(sorted(reasons)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortened:
    """Notes of which not even the first fits, with the most important lines of that one instead of all."""

    items: Mapping[Place, Sequence[ContextItem]]
    left_out: tuple[tuple[ContextItem, int], ...]
    """What is not shown, or not all of it, with the tokens that were saved."""


def shorten(items: Mapping[Place, Sequence[ContextItem]], room: int, count: TokenCounter) -> Shortened | None:
    """Make the first note fit into so many tokens by leaving out lines; None where it fits, or nothing helps."""
    first = next((found[0] for place in NOTES if (found := items.get(place))), None)
    if first is None or first.note is None or (size := count(render_item(first))) <= room or room < 1:
        return None
    marks = _marks(first.note, first.content)
    lost = len(marks) * count(f"({WARNING}) ")
    chosen = choose_notes(
        [replace(first.note, tokens=size)],
        max_reflections=0,
        max_observations=0,
        token_budget=room,
        count=lambda text: count(text) + lost,
    )
    kept = (*chosen.reflections, *chosen.observations)
    if not kept:
        return None
    shown = replace(first, note=kept[0], content=_marked(kept[0], marks))
    others = [item for place in NOTES for item in items.get(place, ()) if item is not first]
    saved = replace(first, signals={"entries": float(len(first.note.entries) - len(kept[0].entries))})
    left = [(saved, size - count(render_item(shown))), *((item, count(render_item(item))) for item in others)]
    return Shortened(
        items={**{place: found for place, found in items.items() if place not in NOTES}, first.layer: (shown,)},
        left_out=tuple(left),
    )


def _marked(note: Note, marked: Collection[str]) -> str:
    """The note's text with a warning before what these entries say."""
    return "".join(
        f"- ({WARNING}) {line[2:]}\n" if entry is not None and entry.id in marked else f"{line}\n"
        for line, entry in _lines(note, render_note(note))
    )


def _marks(note: Note, content: str) -> set[str]:
    """The entries that have a warning in this text of the note."""
    return {entry.id for line, entry in _lines(note, content) if entry and line.startswith(f"- ({WARNING}) ")}


def _lines(note: Note, content: str) -> Iterator[tuple[str, Entry | None]]:
    """The lines of a note's text, each with its entry; a day has none."""
    entries = iter(note.entries)
    for line in content.rstrip("\n").split("\n"):
        yield line, next(entries) if line.startswith("- ") else None


def _reasons(entry: Entry) -> tuple[str, ...]:
    return findings(f"{entry.author or ''}\n{entry.text}", _ORIGINS[entry.origin])


def _newest_first(item: ContextItem) -> tuple[int, int]:
    assert item.note is not None
    return (-item.note.generation, -item.note.last_sequence)
