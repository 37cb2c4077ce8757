"""Notes and their figures as plain JSON, for commands and doors."""

from dataclasses import asdict

from lamina.observation.economics import MemoryStatus
from lamina.observation.service import ObservationReport, Timeline
from lamina.observation.types import Entry, Note


def entry_record(entry: Entry) -> dict[str, object]:
    """One line of a note, with the messages it comes from."""
    return {
        "id": entry.id,
        "text": entry.text,
        "kind": entry.kind.value,
        "priority": entry.priority.value,
        "status": entry.status.value,
        "origin": entry.origin.value,
        "author": entry.author,
        "said_at": entry.said_at.isoformat(),
        "refers_to": None
        if entry.refers_to is None
        else {"first": entry.refers_to.first.isoformat(), "last": entry.refers_to.last.isoformat()},
        "sources": list(entry.sources),
    }


def note_record(note: Note) -> dict[str, object]:
    """A note with its entries."""
    return {
        "id": note.id,
        "generation": note.generation,
        "first_sequence": note.first_sequence,
        "last_sequence": note.last_sequence,
        "tokens": note.tokens,
        "source_tokens": note.source_tokens,
        "written_by": note.written_by,
        "provisional": note.provisional,
        "created_at": note.created_at.isoformat(),
        "entries": [entry_record(entry) for entry in note.entries],
    }


def timeline_record(timeline: Timeline) -> dict[str, object]:
    """A session from its first message to its last."""
    return {
        "session_key": timeline.session_key,
        "last_sequence": timeline.last_sequence,
        "archived_through": timeline.archived_through,
        "watermark": timeline.watermark,
        "pending_tokens": timeline.pending_tokens,
        "observations": [note_record(note) for note in timeline.observations],
        "reflections": [note_record(note) for note in timeline.reflections],
        "set_aside": [note_record(note) for note in timeline.set_aside],
    }


def status_record(status: MemoryStatus) -> dict[str, object]:
    """Figures of a session, or of all."""
    plain = asdict(status)
    plain["next_attempt_at"] = None if status.next_attempt_at is None else status.next_attempt_at.isoformat()
    return {**plain, "pending_tokens": status.pending_tokens, "compression": status.compression}


def report_record(report: ObservationReport) -> dict[str, object]:
    """What observing now did."""
    return {**asdict(report), "failures": list(report.failures), "busy": list(report.busy)}
