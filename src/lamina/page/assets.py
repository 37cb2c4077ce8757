"""The files that come with the page, served at `/_page`."""

import hashlib
from functools import cache
from pathlib import Path
from typing import Final

STATIC: Final = Path(__file__).parent / "static"


@cache
def asset(name: str) -> str:
    """Where a file is served, with a mark that changes with it, so that no browser keeps an old one."""
    return f"/_page/{name}?{hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]}"
