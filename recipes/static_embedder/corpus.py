"""Step 2: gathers the texts on which the token table is fitted: `python corpus.py SOURCES CORPUS.jsonl.gz`.

SOURCES holds checkouts and files, named as in README.md; a missing one is an error, so that two runs agree.
Each line of the result is one text and the group it was said in (a conversation, a set of look-alikes).
"""

import csv
import gzip
import io
import json
import lzma
import random
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

Text = tuple[str, str]  # (text, group)
HELD_OUT_PACKAGES = 3_000


def persona(root: Path) -> Iterator[Text]:
    """Synthetic-Persona-Chat (CC BY 4.0): turns and the facts behind them."""
    for part in ("valid", "test"):
        text = (root / f"data/Synthetic-Persona-Chat_{part}.csv").read_text(encoding="utf-8")
        for number, row in enumerate(csv.reader(io.StringIO(text))):
            if number == 0:
                continue
            group = f"persona-{part}-{number}"
            for fact in (row[0] + "\n" + row[1]).splitlines():
                yield fact, group
            for turn in row[2].splitlines():
                yield re.sub(r"^User \d: ?", "", turn), group


def topical(root: Path) -> Iterator[Text]:
    """Topical-Chat (CDLA-Sharing-1.0)."""
    for part in ("valid_freq", "valid_rare", "test_freq", "test_rare"):
        talks = json.loads((root / f"conversations/{part}.json").read_text(encoding="utf-8"))
        for key, talk in talks.items():
            for turn in talk["content"]:
                yield turn["message"], f"topical-{key}"


def taskmaster(root: Path) -> Iterator[Text]:
    """Taskmaster 3 and 4 (CC BY 4.0)."""
    for path in sorted((root / "TM-4-2024/data").glob("*.json")):
        for talk in json.loads(path.read_text(encoding="utf-8")):
            for turn in talk["utterances"]:
                yield turn["text"], f"taskmaster-{path.stem}"
    lines = (root / "TM-3-2020/splits/train/train-bc.tsv").read_text(encoding="utf-8").splitlines()
    for line in lines:
        for turn in re.findall(r"<[UA]>([^<\t]+)", line):
            yield turn, "taskmaster-films"


def service(root: Path) -> Iterator[Text]:
    """Multi-domain goal-oriented dialogues (CDLA-Permissive-1.0)."""
    for path in sorted((root / "data/paper_splits/splits_annotated_at_turn_level").glob("*/*.tsv")):
        for row in csv.reader(path.open(encoding="utf-8"), delimiter="\t", quoting=csv.QUOTE_NONE):
            if len(row) > 3:
                yield row[3], f"service-{path.parent.name}"


def intents(clinc: Path, polyai: Path) -> Iterator[Text]:
    """CLINC150 (CC BY 3.0) and Banking77 (CC BY 4.0): what people ask an assistant."""
    for rows in json.loads((clinc / "data/data_full.json").read_text(encoding="utf-8")).values():
        for text, label in rows:
            yield text, f"clinc-{label}"
    for line in (clinc / "data/all_wiki_sents.txt").read_text(encoding="utf-8").splitlines():
        yield line, "wiki"
    for part in ("train", "test"):
        for row in csv.reader((polyai / f"banking_data/{part}.csv").open(encoding="utf-8")):
            yield row[0], f"banking-{row[1]}"


def questions(root: Path) -> Iterator[Text]:
    """NQ-open (CC BY-SA 3.0): questions people typed into a search engine."""
    for name in ("NQ-open.dev.jsonl", "NQ-open.efficientqa.dev.1.1.jsonl", "NQ-open.efficientqa.test.1.1.jsonl"):
        for line in (root / "nq_open" / name).read_text(encoding="utf-8").splitlines():
            yield json.loads(line)["question"] + "?", "nq"


def wordnet(root: Path) -> Iterator[Text]:
    """WordNet 3.0 (WordNet licence): each word with its meaning, and the example sentences."""
    for part in ("noun", "verb", "adj", "adv"):
        for line in (root / f"data.{part}").read_text(encoding="utf-8").splitlines():
            if line.startswith(" ") or " | " not in line:
                continue
            head, gloss = line.split(" | ", 1)
            fields = head.split()
            words = [fields[4 + 2 * n].replace("_", " ") for n in range(int(fields[3], 16))]
            meaning, *examples = gloss.split('"')
            yield meaning.strip(" ;"), f"wordnet-{fields[1]}"
            yield f"{', '.join(words)}: {meaning.strip(' ;')}", f"wordnet-{fields[1]}"
            yield ", ".join(words), f"wordnet-{fields[1]}"
            for example in examples:
                yield example.strip(" ;"), f"wordnet-{fields[1]}"


def packages(path: Path) -> list[tuple[str, str]]:
    """Debian's package descriptions (Translation-en.xz): headline and first paragraph, shuffled the same way always."""
    found: dict[str, str] = {}
    for block in lzma.decompress(path.read_bytes()).decode("utf-8").split("\n\n"):
        part = block.partition("Description-en: ")[2]
        headline, _, body = part.partition("\n")
        paragraph = " ".join(body.partition("\n .")[0].split())
        if len(paragraph) > 60 and headline:
            found.setdefault(paragraph[:600], headline)
    pairs = [(headline, paragraph) for paragraph, headline in sorted(found.items())]
    random.Random(7).shuffle(pairs)
    return pairs


def masc(path: Path) -> Iterator[Text]:
    """MASC (free for any use): letters, talks, blogs, news, joined back from tagged words."""
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if not name.endswith(".txt") or "categories" in name:
                continue
            for line in archive.read(name).decode("utf-8", "replace").splitlines():
                words = [word.rpartition("_")[0] or word for word in line.split()]
                if 4 <= len(words) <= 60:
                    yield re.sub(r" (?=[.,;:!?')])", "", " ".join(words)), f"masc-{Path(name).stem}"


def everything(sources: Path) -> Iterator[Text]:
    """All texts with their groups, before cleaning."""
    yield from persona(sources / "Synthetic-Persona-Chat")
    yield from topical(sources / "Topical-Chat")
    yield from taskmaster(sources / "Taskmaster")
    yield from service(sources / "multi-domain-goal-oriented-dialogues-dataset")
    yield from intents(sources / "oos-eval", sources / "task-specific-datasets")
    yield from questions(sources / "natural-questions")
    yield from wordnet(sources / "wordnet")
    for headline, paragraph in packages(sources / "Translation-en.xz")[HELD_OUT_PACKAGES:]:
        yield headline, "debian"
        yield paragraph, "debian"
    yield from masc(sources / "masc_tagged.zip")


def main() -> None:
    sources, target = Path(sys.argv[1]), Path(sys.argv[2])
    seen: set[str] = set()
    with gzip.open(target, "wt", encoding="utf-8", compresslevel=9) as out:
        for raw, group in everything(sources):
            text = " ".join(raw.split())[:600]
            if len(text) < 8 or text.lower() in seen:
                continue
            seen.add(text.lower())
            out.write(json.dumps({"text": text, "group": group}, ensure_ascii=False) + "\n")
    print(len(seen), "texts")


if __name__ == "__main__":
    main()
