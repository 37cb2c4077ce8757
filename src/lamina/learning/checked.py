"""What the verbs of learning are given, checked and without secrets."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from lamina.errors import InvalidInputError
from lamina.kernel.checks import check_choice, check_moment, check_name, check_share, check_tags, check_text
from lamina.kernel.redact import redact
from lamina.knowledge.named import NamedTextService
from lamina.knowledge.types import Origin
from lamina.learning.category import categorise, error_kinds
from lamina.learning.observation import tool_name
from lamina.learning.pattern import LONGEST_ERROR, clean_text, error_text, extract_pattern
from lamina.learning.saving import slot_of
from lamina.learning.selection import Selection
from lamina.learning.settings import LearningSettings
from lamina.learning.types import LearningCategory
from lamina.learning.writing import Draft


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedLearning(NamedTextService):
    """Checks for one tenant. `settings` are those of knowledge, `rules` those of learning."""

    rules: LearningSettings

    def _draft(
        self,
        fix: str,
        tool: str | None,
        error: str | BaseException | None,
        trigger: str | None,
        diagnosis: str | None,
        category: LearningCategory | str | None,
        tags: Sequence[str] | None,
        origin: Origin | str,
        session: str | None,
    ) -> Draft:
        longest = self.rules.max_text_length
        name = None if tool is None else self._tool(tool)
        text = None if error is None else said(error)
        if trigger is None and text is None:
            raise InvalidInputError(
                "Say what the fix is for: an error, or a trigger that describes when it applies.",
                details={"field": "trigger"},
            )
        when = self._text("trigger", trigger) if trigger is not None else f"tool:{name}" if name else "error"
        why = self._text("diagnosis", diagnosis) if diagnosis is not None else text and text[:longest]
        kinds = error_kinds(error) if isinstance(error, BaseException) else ()
        return Draft(
            tenant=self.tenant,
            tool=name,
            trigger=when,
            pattern=None if text is None else extract_pattern(text),
            diagnosis=why,
            fix=self._text("fix", fix),
            category=categorise(text or "", tool=name, kinds=kinds)
            if category is None
            else check_choice("category", category, LearningCategory),
            tags=None if tags is None else check_tags([*map(self._hide, check_tags(tags))]),
            origin=check_choice("origin", origin, Origin),
            now=self.clock.now(),
            seen=0,
            slot=slot_of(self.tenant, session),
            most=self.settings.max_learnings_per_session,
        )

    def _text(self, field: str, value: object) -> str:
        return self._hide(check_text(field, value, longest=self.rules.max_text_length))

    def _tool(self, tool: object) -> str:
        return tool_name(check_name("tool", tool))

    def _id(self, id: object) -> str:
        return check_name("id", id)

    def _selection(
        self,
        tool: str | None,
        category: LearningCategory | str | None,
        min_confidence: float | None,
        max_confidence: float | None,
        not_seen_since: datetime | None,
        has_fix: bool | None,
    ) -> Selection:
        return Selection(
            tool=None if tool is None else self._tool(tool),
            category=None if category is None else check_choice("category", category, LearningCategory),
            min_confidence=None if min_confidence is None else check_share("min_confidence", min_confidence),
            max_confidence=None if max_confidence is None else check_share("max_confidence", max_confidence),
            not_seen_since=check_moment("not_seen_since", not_seen_since),
            has_fix=has_fix,
        )


def said(error: str | BaseException) -> str:
    """What an error says, without secrets; raises InvalidInputError for a blank text."""
    if not isinstance(error, str):
        return redact(clean_text(error_text(error), longest=LONGEST_ERROR))
    text = clean_text(error, longest=LONGEST_ERROR)
    if not text.strip():
        raise InvalidInputError("error is empty; give its text, or leave it out.", details={"field": "error"})
    return redact(text)
