"""The requirements trace: which scenario of the specification is proved by which test.

The scenarios are listed in requirements.toml. A test names those it proves with
`@pytest.mark.requirement("memory.get.absent")`. `problems` says where the two disagree.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ID = re.compile(r"[a-z]+(\.[a-z0-9]+(-[a-z0-9]+)*)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One scenario; `later` names the capability it waits for, None when tests must prove it now."""

    id: str
    document: str
    title: str
    sentence: str
    later: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The list of scenarios, how many each document has, and how many may wait for later."""

    scenarios: tuple[Scenario, ...]
    documents: Mapping[str, int] = field(default_factory=dict)
    later_at_most: int = 0


def load(path: Path) -> Trace:
    """Read the list; raises TypeError for a scenario with a missing or unknown key."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    return Trace(
        scenarios=tuple(Scenario(**row) for row in content["scenario"]),
        documents=content["documents"],
        later_at_most=content["later_at_most"],
    )


def problems(trace: Trace, marks: Mapping[str, Iterable[str]]) -> list[str]:
    """Everything wrong with the list and the marks (test name to ids), one sentence each."""
    return [*list_problems(trace), *mark_problems(trace, marks)]


def list_problems(trace: Trace) -> list[str]:
    """What is wrong with the list itself, whatever the tests say."""
    found = [
        f"{scenario.id}: an id is dotted words of lower case letters, digits and hyphens"
        for scenario in trace.scenarios
        if not ID.fullmatch(scenario.id)
    ]
    counted_ids = Counter(scenario.id for scenario in trace.scenarios)
    found += [f"{id}: listed {count} times" for id, count in counted_ids.items() if count > 1]
    counted = Counter(scenario.document for scenario in trace.scenarios)
    found += [
        f"{document}: {counted[document]} scenarios listed, {trace.documents.get(document, 0)} expected"
        for document in sorted(counted.keys() | trace.documents.keys())
        if counted[document] != trace.documents.get(document, 0)
    ]
    waiting = sum(scenario.later is not None for scenario in trace.scenarios)
    if waiting > trace.later_at_most:
        found.append(f"{waiting} scenarios wait for later, at most {trace.later_at_most} may: the list only shrinks")
    if waiting < trace.later_at_most:
        found.append(f"only {waiting} scenarios wait for later: lower later_at_most from {trace.later_at_most}")
    return found


def mark_problems(trace: Trace, marks: Mapping[str, Iterable[str]]) -> list[str]:
    """Where the tests' marks and the list disagree."""
    listed = {scenario.id for scenario in trace.scenarios}
    tested = {id for ids in marks.values() for id in ids}
    found = [
        f"{test}: no scenario has the id {id!r}"
        for test, ids in sorted(marks.items())
        for id in sorted(set(ids) - listed)
    ]
    for scenario in trace.scenarios:
        if scenario.later is None and scenario.id not in tested:
            found.append(f"{scenario.id}: no test proves it ({scenario.title})")
        if scenario.later is not None and scenario.id in tested:
            found.append(f"{scenario.id}: tested, so it no longer waits for {scenario.later}; drop its `later`")
    return found
