"""The carriers of every room, in the order in which what they carry is stored."""

from collections.abc import Mapping, Sequence

from lamina.config import Settings
from lamina.context.transfer import QuarantineCarrier
from lamina.graph.transfer import AliasCarrier, TripleCarrier
from lamina.graph.writing import remove_sources
from lamina.knowledge.transfer import KnowledgeCarrier, ReferenceCarrier
from lamina.learning.transfer import LearningCarrier
from lamina.observation.transfer import NoteCarrier
from lamina.session.transfer import MessageCarrier, SessionCarrier
from lamina.skill.transfer import SkillCarrier
from lamina.transfer.port import Carrier

_READ_KINDS = ("memory", "message", "knowledge", "learning")


def all_carriers(settings: Settings) -> Mapping[str, Sequence[Carrier]]:
    """New carriers by the part that an export names them with; a room that is switched off has its own as well."""
    known = settings.knowledge
    learnings = LearningCarrier(settings.learning, hide_secrets=known.hide_secrets, on_removed=remove_sources)
    return {
        "knowledge": [KnowledgeCarrier(known, on_removed=remove_sources)],
        "references": [ReferenceCarrier(known)],
        "learnings": [learnings],
        "skills": [SkillCarrier()],
        # Notes before messages: while a worker is at it, it must not take an imported message for a new one.
        "sessions": [SessionCarrier(), NoteCarrier(), MessageCarrier(settings.session)],
        "graph": [TripleCarrier(_READ_KINDS), AliasCarrier()],
        "quarantine": [QuarantineCarrier()],
    }
