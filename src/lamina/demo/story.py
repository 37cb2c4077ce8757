"""Reads the story: what happened, on which day and at which time. The words are in `story.yaml`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import time
from importlib.resources import files
from typing import Any

import yaml

ASSISTANT = "wren"
"""The agent in the story; whoever else speaks is a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happens; `what` holds it in the words of the house, under the name of its verb."""

    day: int
    """Counted from 0."""
    at: time
    what: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """Everything that happens, in order."""

    hierarchy: Sequence[Mapping[str, str]]
    events: Sequence[Event]

    @property
    def days(self) -> int:
        """How many days it takes."""
        return self.events[-1].day + 1


def read_story() -> Story:
    """The story as it is shipped."""
    told = yaml.safe_load(files("lamina.demo").joinpath("story.yaml").read_text(encoding="utf-8"))
    events = [
        Event(day=day, at=time.fromisoformat(event["at"]), what={name: event[name] for name in event if name != "at"})
        for day, happened in enumerate(told["days"])
        for event in happened
    ]
    return Story(hierarchy=told["hierarchy"], events=events)
