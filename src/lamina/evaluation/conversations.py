"""Reads conversations with labelled questions in the form of the LoCoMo data set."""

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lamina.errors import InvalidInputError
from lamina.memory.types import Identifiers, NewMemory, Source

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop"}
"""The categories that are asked; the fifth has questions without an answer."""

_EVIDENCE = re.compile(r"D\d+:\d+")
_SESSION = re.compile(r"session_(\d+)")
_MOMENT = "%I:%M %p on %d %B, %Y"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One thing somebody said; `reference` is what evidence calls it."""

    reference: str
    author: str
    text: str
    caption: str | None
    session: str
    sequence: int
    said_at: datetime | None

    @property
    def content(self) -> str:
        """What was said, and what a picture that was sent with it shows."""
        return f"{self.text} [image: {self.caption}]" if self.caption else self.text

    def to_memory(self, user_id: str) -> NewMemory:
        """The turn as a memory of the user, with its source."""
        return NewMemory(
            content=f"{self.author}: {self.content}",
            identifiers=Identifiers(user_id=user_id),
            source=Source(
                kind="conversation",
                conversation=self.session,
                sequence=self.sequence,
                author=self.author,
                said_at=self.said_at,
                reference=self.reference,
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question and the turns that answer it; `answer` is empty where the file gives none."""

    text: str
    category: int
    evidence: frozenset[str]
    answer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One sample: everything said, and what is asked about it."""

    id: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]
    unasked: int = 0
    """Questions of the file that are not asked: those without an answer in what was said, or without evidence."""


def read_conversations(path: Path) -> list[Conversation]:
    """The samples of a file. Raises InvalidInputError, with the sample and field, for another form."""
    try:
        samples = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(samples, list) or not samples:
        raise InvalidInputError(f"{path} must hold a list of samples, each with `conversation` and `qa`.")
    conversations = []
    for number, sample in enumerate(samples):
        try:
            conversations.append(_conversation(number, sample))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise InvalidInputError(
                f"{path}: sample {number} has not the expected form ({type(error).__name__}: {error})."
            ) from error
    return conversations


def _conversation(number: int, sample: dict[str, Any]) -> Conversation:
    said = sample["conversation"]
    sessions = sorted((key for key in said if _SESSION.fullmatch(key)), key=lambda key: int(key.split("_")[1]))
    turns = [turn for session in sessions for turn in _turns(session, said[session], said.get(f"{session}_date_time"))]
    questions = [_question(item) for item in sample["qa"]]
    asked = tuple(one for one in questions if one.category in CATEGORIES and one.evidence)
    return Conversation(
        id=str(sample.get("sample_id", f"sample-{number}")),
        turns=tuple(turns),
        questions=asked,
        unasked=len(questions) - len(asked),
    )


def _turns(session: str, turns: list[dict[str, Any]], when: str | None) -> list[Turn]:
    said_at = None if when is None else datetime.strptime(when, _MOMENT).replace(tzinfo=UTC)
    return [
        Turn(
            reference=turn["dia_id"],
            author=turn["speaker"],
            text=turn["text"],
            caption=turn.get("blip_caption"),
            session=session,
            sequence=sequence,
            said_at=said_at,
        )
        for sequence, turn in enumerate(turns)
    ]


def _question(item: dict[str, Any]) -> Question:
    # An evidence string may hold several references, or stray text around one.
    evidence = frozenset(found for text in item["evidence"] for found in _EVIDENCE.findall(text))
    return Question(
        text=item["question"],
        category=int(item["category"]),
        evidence=evidence,
        answer=str(item.get("answer", "")).strip(),
    )
