"""The texts of a store that have vectors, room by room."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lamina.embedding.reembed import TextSource


def late_texts(*, known: bool = True) -> dict[str, Any]:
    """The texts whose vectors may come after them, by the kind of their scope; knowledge only where it is on."""
    from lamina.session.texts import MessageTexts

    late: dict[str, Any] = {"message": MessageTexts()}
    if not known:
        return late
    from lamina.knowledge.texts import knowledge_texts, reference_texts
    from lamina.learning.texts import LearningTexts
    from lamina.skill.rows import SkillTexts

    late |= {"knowledge": knowledge_texts(), "reference": reference_texts()}
    return {**late, "learning": LearningTexts(), "skill": SkillTexts()}


def all_texts() -> "Sequence[TextSource]":
    """Every text of a store that has a vector, for a change of model."""
    from lamina.memory.texts import MemoryTexts

    return [MemoryTexts(), *late_texts().values()]
