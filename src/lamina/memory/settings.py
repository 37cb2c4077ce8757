"""The knobs of layered memory, with the specification's defaults."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySettings:
    """Defaults and limits of the memory verbs."""

    tenant: str = "default"
    """The tenant every row belongs to unless a caller names another."""
    threshold: float = 0.7
    """The calibrated relevance a search result needs, from 0 to 1."""
    search_limit: int = 10
    """Results of a search that names no limit."""
    max_search_limit: int = 100
    """The largest limit a search accepts."""
    list_limit: int = 50
    """Entries of a page that names no limit."""
    max_list_limit: int = 100
    """The largest limit a listing accepts."""
    max_content_length: int = 100_000
    """Characters of content at most."""
    max_query_length: int = 10_000
    """Characters of a query at most."""
    max_metadata_size: int = 65_536
    """Bytes of an entry's metadata as JSON at most."""
    dedup_similarity: float = 0.95
    """The similarity from which two results may be one memory, from 0 to 1."""
    sweep_interval_s: float = 300.0
    """Seconds between two removals of expired entries; 0 never sweeps."""

    def __post_init__(self) -> None:
        if not self.tenant.strip():
            raise ValueError("tenant must not be empty")
        for name in ("threshold", "dedup_similarity"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be between 0 and 1")
        for name in (
            "max_search_limit",
            "max_list_limit",
            "max_content_length",
            "max_query_length",
            "max_metadata_size",
        ):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1")
        for name in ("search_limit", "list_limit"):
            if not 1 <= getattr(self, name) <= getattr(self, f"max_{name}"):
                raise ValueError(f"{name} must be between 1 and max_{name}")
        if self.sweep_interval_s < 0:
            raise ValueError("sweep_interval_s must not be negative")
