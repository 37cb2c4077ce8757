"""The knobs of the scope indexes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSettings:
    """How much the indexes may hold."""

    memory_limit_mb: int = 1024
    """Megabytes that all loaded scope indexes together may take; the least recently used leave first."""

    def __post_init__(self) -> None:
        if self.memory_limit_mb < 1:
            raise ValueError("memory_limit_mb must be at least 1")
