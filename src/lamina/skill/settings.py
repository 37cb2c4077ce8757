"""The knobs of skills, with the specification's defaults. Whether skills are kept at all is `knowledge.enabled`."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillSettings:
    """Who approves skills, how many are made, and within which limits they run."""

    auto_approve: bool = False
    """A created or imported skill is active at once, without anybody's approval."""
    max_per_day: int = 5
    """New skills a tenant may create in a day (UTC); 0 is unlimited."""
    sandbox: Literal["bubblewrap", "none"] = "bubblewrap"
    """What holds a script: `bubblewrap`, or `none` to run it with limits only, with your rights and your files."""
    timeout_s: float = 30.0
    """Seconds a script or a composite may take."""
    memory_mb: int = 256
    """Megabytes of memory each process of a script may take."""
    work_mb: int = 64
    """Megabytes a script may write into its work folder."""
    max_processes: int = 32
    """Processes of a script at the same time."""
    max_output_bytes: int = 262_144
    """Bytes a script may print or a template may render."""
    template_timeout_s: float = 2.0
    """Seconds a template may take."""
    search_limit: int = 5
    """Results of a search that names no limit."""
    list_limit: int = 50
    """Skills of a page that names no limit."""
    max_limit: int = 100
    """The largest limit a search or a listing accepts."""
    search_threshold: float = 0.1
    """The calibrated relevance a search result needs, from 0 to 1."""
    max_query_length: int = 10_000
    """Characters of a query at most."""
    max_import: int = 50
    """Folders one import takes."""

    def __post_init__(self) -> None:
        if self.max_per_day < 0:
            raise ValueError("max_per_day must not be negative; 0 is unlimited")
        for name in ("timeout_s", "template_timeout_s"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0")
        for name in ("memory_mb", "work_mb", "max_processes", "max_output_bytes", "max_limit", "max_import"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1")
        if self.max_query_length < 1:
            raise ValueError("max_query_length must be at least 1")
        for name in ("search_limit", "list_limit"):
            if not 1 <= getattr(self, name) <= self.max_limit:
                raise ValueError(f"{name} must be between 1 and max_limit")
        if not 0 <= self.search_threshold <= 1:
            raise ValueError("search_threshold must be between 0 and 1")
