"""The knobs of the service: where it listens, and how much it takes from whom."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Where the service listens and what it lets in."""

    host: str = "127.0.0.1"
    """The address to listen on; anything but this machine needs a key (`lamina key create`)."""
    port: int = 7077
    """The port to listen on; 0 takes a free one."""
    page: bool = True
    """Whether the page is served."""
    mcp: bool = True
    """Whether MCP is served, at /mcp."""
    max_body_mb: int = 16
    """Megabytes of a request at most; an import is a stream and has no limit."""
    request_timeout_s: float = 60.0
    """Seconds a request may take; streams are exempt."""
    rate_per_s: float = 500.0
    """Requests a second for each key, or for each address where there are no keys; 0 is unlimited."""
    max_in_flight: int = 1000
    """Requests at once; more are turned away with a 503 and a time to come back. Half are for callers with a key."""
    cors_origins: tuple[str, ...] = ()
    """Places whose pages may call the API; none by default."""
    stop_deadline_s: float = 10.0
    """Seconds that requests under way have to end when the service stops."""

    def __post_init__(self) -> None:
        if not self.host.strip():
            raise ValueError("host must not be empty")
        if not 0 <= self.port <= 65535:
            raise ValueError("port must be from 0 to 65535")
        for name in ("max_body_mb", "max_in_flight"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1")
        for name in ("request_timeout_s", "rate_per_s", "stop_deadline_s"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative")
