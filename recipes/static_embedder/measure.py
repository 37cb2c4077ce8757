"""Step 4: measures a token table: `python measure.py MODEL_FOLDER LOCOMO.json [METATOOL.json]` (seconds on a CPU).

MODEL_FOLDER is what build.py wrote, or `shipped` for the table in the package. Needs Lamina, not torch.
"""

import asyncio
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

from lamina.app import App
from lamina.config import Settings
from lamina.database.settings import DatabaseSettings
from lamina.embedding.static import StaticEmbedder
from lamina.evaluation.conversations import Conversation, read_conversations
from lamina.evaluation.locomo import evaluate
from lamina.evaluation.small import evaluate_small, small_stores
from lamina.index.calibration import calibration_texts


def vectors_alone(embedder: StaticEmbedder, conversations: list[Conversation]) -> float:
    """Recall of evidence among the ten nearest turns."""
    found = []
    for talk in conversations:
        turns = embedder.encode([turn.to_memory(talk.id).content for turn in talk.turns])
        asked = embedder.encode([question.text for question in talk.questions])
        for question, near in zip(talk.questions, np.argsort(-(asked @ turns.T), axis=1)[:, :10], strict=True):
            named = {talk.turns[number].reference for number in near}
            found.append(len(question.evidence & named) / len(question.evidence))
    return float(np.mean(found))


def tool_choice(embedder: StaticEmbedder, path: Path) -> tuple[float, float]:
    """How often a right tool comes first, and among the first five, by vectors alone."""
    data = json.loads(path.read_text(encoding="utf-8"))
    names = [tool["name"] for tool in data["tools"]]
    tools = embedder.encode([f"{tool['name']}: {tool['description']}" for tool in data["tools"]])
    asked = embedder.encode([query["query"] for query in data["queries"]])
    ranks = []
    for query, scores in zip(data["queries"], asked @ tools.T, strict=True):
        right = max(scores[names.index(name)] for name in query["tools"])
        ranks.append(int((scores > right).sum()) + 1)
    return float(np.mean(np.array(ranks) <= 1)), float(np.mean(np.array(ranks) <= 5))


def pairs(embedder: StaticEmbedder) -> float:
    """Mean reciprocal rank of the memory that answers each calibration question; fitting never sees these texts."""
    memories, questions = (embedder.encode(texts) for texts in calibration_texts())
    scores = questions @ memories.T
    return float(np.mean(1 / ((scores > np.diag(scores)[:, None]).sum(axis=1) + 1)))


async def in_the_ranking(embedder: StaticEmbedder, conversations: list[Conversation]) -> dict[str, float]:
    """LoCoMo and the small stores in the whole ranking, everything at its default."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in ("locomo", "small"):
            settings = Settings(database=DatabaseSettings(url=f"sqlite:///{folder}/{name}.db"))
            async with App(settings, embedder=embedder, environ={}) as app:
                if name == "locomo":
                    report = await evaluate(app, conversations)
                    found["locomo recall@10"] = report.quality.recall_at_10
                    found["locomo off-topic results"] = report.off_topic_results_mean
                else:
                    parts = (await evaluate_small(app, small_stores())).parts
                    found |= {f"small stores recall, {part}": quality.recall for part, quality in parts.items()}
    return found


def main() -> None:
    folder, locomo, *metatool = sys.argv[1:]
    embedder = StaticEmbedder(None if folder == "shipped" else Path(folder))
    conversations = read_conversations(Path(locomo))
    figures = asyncio.run(in_the_ranking(embedder, conversations))
    figures["locomo recall@10, vectors alone"] = vectors_alone(embedder, conversations)
    figures["calibration pairs mrr"] = pairs(embedder)
    if metatool:
        figures["metatool first"], figures["metatool first five"] = tool_choice(embedder, Path(metatool[0]))
    for name, value in figures.items():
        print(f"{name:36} {value:.4f}")


if __name__ == "__main__":
    main()
