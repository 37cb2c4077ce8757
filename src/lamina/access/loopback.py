"""Who may call without a key: programs of this machine. Pure.

A page in a browser runs on this machine too and can send requests to it, so what a page of another place sends, or
sends under another name of ours, is refused.
"""

import ipaddress
from typing import Literal
from urllib.parse import urlsplit


def is_this_machine(host: str | None) -> bool:
    """Whether a host is loopback."""
    if host is None or host == "localhost" or host.endswith(".localhost"):
        return host is not None
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def foreign_part(*, host: str | None, origin: str | None) -> Literal["host", "origin"] | None:
    """Which of the headers Host and Origin is not of this machine; None where both are."""
    if not is_this_machine(_host(f"//{host or ''}")):
        return "host"
    if origin is not None and not is_this_machine(_host(origin)):
        return "origin"
    return None


def _host(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None
