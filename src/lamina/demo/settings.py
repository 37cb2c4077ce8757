"""The settings that the story needs: every room open, and thresholds that fit conversations of a few pages."""

from dataclasses import replace

from lamina.config import Settings

STORE = "lamina-demo.db"
"""The store of the story where no other one is named."""


def demo_settings(settings: Settings) -> Settings:
    """The settings with everything switched on that the story shows; the store and the models stay as they are."""
    return settings.model_copy(
        update={
            "knowledge": replace(settings.knowledge, enabled=True),
            "graph": replace(settings.graph, enabled=True),
            "observational_memory": replace(
                settings.observational_memory,
                enabled=True,
                message_token_threshold=160,
                observation_token_threshold=320,
                retained_tail_tokens=90,
            ),
            "context": replace(settings.context, suspicious="quarantine", store_receipts=True, memory_threshold=0.4),
        }
    )
