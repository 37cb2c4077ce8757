"""Scores extraction against labelled sentences; `python -m tests.graph.labelled` prints what is missed and wrong."""

import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from lamina.graph.extract import extract
from lamina.graph.names import fold
from lamina.graph.types import Predicate

_FILE = Path(__file__).parent / "labelled_sentences.toml"
Relation = tuple[str, str, str]


@dataclass(slots=True)
class Score:
    """Relations found and right, found and wrong, and missed."""

    right: int = 0
    wrong: list[tuple[str, Relation]] = field(default_factory=list)
    missed: list[tuple[str, Relation]] = field(default_factory=list)

    @property
    def precision(self) -> float:
        """The share of what was found that is right."""
        return self.right / (self.right + len(self.wrong))

    @property
    def recall(self) -> float:
        """The share of what is there that was found."""
        return self.right / (self.right + len(self.missed))


def score(part: str) -> Score:
    """Score one part of the file, `tuned` or `counted`."""
    total = Score()
    for row in tomllib.loads(_FILE.read_text(encoding="utf-8"))[part]:
        wanted = {_folded(*(name.strip() for name in line.split("|"))) for line in row["triples"]}
        found = {
            _folded(one.subject, one.predicate.value, one.object)
            for one in extract(row["text"]).triples
            if one.predicate is not Predicate.RELATED_TO
        }
        total.right += len(wanted & found)
        total.wrong += [(row["text"], one) for one in sorted(found - wanted)]
        total.missed += [(row["text"], one) for one in sorted(wanted - found)]
    return total


def _folded(subject: str, predicate: str, object: str) -> Relation:
    return fold(subject), predicate, fold(object)


if __name__ == "__main__":
    for part in ("tuned", "counted"):
        result = score(part)
        sys.stdout.write(f"{part}: precision {result.precision:.2f}, recall {result.recall:.2f}\n")
        if part == "tuned" or "--all" in sys.argv:
            for name, rows in (("wrong", result.wrong), ("missed", result.missed)):
                for text, relation in rows:
                    sys.stdout.write(f"  {name}  {relation}  in  {text}\n")
