"""Addresses of pages, for those that lead to one another."""

from urllib.parse import urlencode


def session_address(key: str, *, at: int | None = None, note: str | None = None) -> str:
    """Where a session is to be seen, at a message or a note."""
    place = {"at": None if at is None else str(at), "note": note}
    return "/sessions?" + urlencode({"key": key, **{name: value for name, value in place.items() if value}})


def is_web_address(text: str) -> bool:
    """Whether following it as a link does no more than opening a page elsewhere; such a text may still be wrong."""
    return text.lower().startswith(("http://", "https://"))
