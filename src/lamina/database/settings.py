"""The knobs of the SQL engine."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseSettings:
    """Where the store is, and how connections to it behave."""

    url: str = "lamina.db"
    """A file path for SQLite, or an address such as postgresql://user@host/name."""
    busy_timeout_s: float = 30.0
    """Seconds a SQLite connection waits for another process's write before it gives up."""
    pool_size: int = 8
    """Connections held open at most."""
    group_commit_max: int = 256
    """Concurrent writes that share one commit at most."""

    def __post_init__(self) -> None:
        if not self.url.strip():
            raise ValueError("url must not be empty")
        if self.busy_timeout_s < 0:
            raise ValueError("busy_timeout_s must not be negative")
        if self.pool_size < 1:
            raise ValueError("pool_size must be at least 1")
        if self.group_commit_max < 1:
            raise ValueError("group_commit_max must be at least 1")
