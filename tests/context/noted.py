"""Apps whose sessions have notes, written as the pipeline writes them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lamina.app import App, open
from lamina.database.link import Link
from lamina.embedding.types import Embedder
from lamina.kernel.clock import Clock
from lamina.kernel.ids import new_id
from lamina.observation.state import commit_state, hold_session, release_lease, take_lease
from lamina.observation.store import delete_notes, insert_note, read_notes
from lamina.observation.types import Entry, Note
from lamina.session.types import Role
from tests.observation.samples import entry, note

KEY = "telegram:42:7"
BASE = "You are a helpful agent."


def noted_app(
    url: str,
    *,
    clock: Clock | None = None,
    embedder: Embedder | None = None,
    context: dict[str, Any] | None = None,
    **observed: Any,
) -> App:
    """An app that shows notes; its worker has nothing to do, because no message is long enough."""
    return open(
        url,
        clock=clock,
        embedder=embedder,
        knowledge={"enabled": True},
        memory={"sweep_interval_s": 0.0},
        observational_memory={"enabled": True, "message_token_threshold": 10**9, "sweep_interval_s": 0.0, **observed},
        context=context or {},
    )


def observation(number: int, *texts: str, words: int = 0) -> Note:
    """The observation of messages `10 * number + 1` to `10 * number + 10`."""
    first = 10 * number + 1
    told = [*(texts or (f"Fact {number}.",)), *(["word " * words] if words else [])]
    entries = [entry(text, minutes=number + place / 10, sources=(first,)) for place, text in enumerate(told)]
    return note(*entries, first=first, last=first + 9)


async def write_notes(app: App, *notes: Note, key: str = KEY, instead: bool = False) -> list[Note]:
    """Commit notes on a session; with `instead` they replace all it has."""
    await app.sessions.append(role=Role.USER, content="Hello.", session_key=key, id="first")
    stored = [_own(one, key) for one in notes]

    def write(link: Link) -> None:
        tenant = app.sessions.tenant
        lease = take_lease(link, tenant, key, owner=new_id(), now=app.sessions.clock.now(), lease_s=60)
        assert lease is not None
        held = hold_session(link, lease)
        if instead:
            delete_notes(link, held, [one.row for one in read_notes(link, held)])
        for one in stored:
            insert_note(link, held, one)
        release_lease(link, commit_state(link, lease), settled=True)

    await app.parts.database.write(write)
    return stored


def _own(one: Note, key: str) -> Note:
    entries: Sequence[Entry] = [replace(each, id=new_id()) for each in one.entries]
    return replace(one, id=new_id(), session_key=key, entries=tuple(entries))


def memory_section(text: str) -> str:
    """Conversation Memory of a prompt, empty where it has none."""
    start = text.find("## Conversation Memory\n")
    return "" if start < 0 else text[start:]
