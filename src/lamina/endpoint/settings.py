"""The knobs of the endpoint that Lamina itself offers; here, below the configuration, which the server is above."""

from dataclasses import dataclass
from typing import Literal

Placement = Literal["system", "turn"]
"""Where context goes: to the end of the system message, or into a message just before the user's latest one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxySettings:
    """Where the endpoint listens, whom it asks, and what it does with a conversation on the way."""

    host: str = "127.0.0.1"
    """The address to listen on; anything but this machine needs `access_key_env`."""
    port: int = 7078
    """The port to listen on; 0 takes a free one."""
    upstream: str = ""
    """The address of the endpoint that answers, such as https://api.openai.com/v1."""
    upstream_key_env: str = ""
    """The environment variable with the upstream's key; unset passes on the key that the client sends."""
    access_key_env: str = ""
    """The environment variable with a key that clients must send; unset lets every program of this machine in."""
    placement: Placement = "system"
    """`system` puts context at the end of the system message, `turn` before the user's latest message."""
    leave_out_noted: bool = False
    """Do not send what notes stand for already; needs `observational_memory.enabled`."""
    embeddings: Literal["lamina", "upstream"] = "lamina"
    """Who answers /v1/embeddings: the configured embedder, whatever model is asked for, or the upstream."""
    max_body_mb: int = 64
    """Megabytes of a request at most."""
    connect_timeout_s: float = 10.0
    """Seconds a connection to the upstream may take."""
    idle_timeout_s: float = 600.0
    """Seconds the upstream may be silent, before its answer and in the middle of it."""
    total_timeout_s: float = 3600.0
    """Seconds an answer may take as a whole; 0 is unlimited."""
    stop_deadline_s: float = 5.0
    """Seconds that answers under way have to end when the endpoint stops."""

    def __post_init__(self) -> None:
        if not self.host.strip():
            raise ValueError("host must not be empty")
        if not 0 <= self.port <= 65535:
            raise ValueError("port must be from 0 to 65535")
        if self.max_body_mb < 1:
            raise ValueError("max_body_mb must be at least 1")
        for name in ("connect_timeout_s", "idle_timeout_s"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be above 0")
        for name in ("total_timeout_s", "stop_deadline_s"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative")
