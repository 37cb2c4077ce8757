"""Joins the pieces of learning: what the app calls when it opens."""

from asyncio import AbstractEventLoop
from collections.abc import Mapping
from typing import Any

from lamina.database.texts import RemovedListener
from lamina.kernel.saved import SavedListener
from lamina.learning.engine import LearningEngine
from lamina.learning.saving import LearningSaver
from lamina.learning.service import LearningService
from lamina.learning.settings import LearningSettings


def open_learning(
    ground: Mapping[str, Any],
    rules: LearningSettings,
    *,
    loop: AbstractEventLoop,
    on_saved: SavedListener | None = None,
    on_removed: RemovedListener | None = None,
) -> LearningService:
    """Learning on the same ground as knowledge (the fields of `NamedTextService`), whose work runs on the loop."""
    shared = {name: ground[name] for name in ("database", "metrics", "audit")}
    saver = LearningSaver(
        **shared,
        embedder=ground["embedder"],
        embeddings=ground["embeddings"],
        on_saved=on_saved,
        on_removed=on_removed,
    )
    watcher = LearningEngine(**shared, settings=rules, knowledge=ground["settings"], clock=ground["clock"], saver=saver)
    watcher.open(loop)
    return LearningService(**ground, rules=rules, watcher=watcher, saver=saver)
