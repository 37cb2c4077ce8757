"""Where a secret stands in what cannot be stored with a mark in its place: scripts, templates, steps, schemas."""

import re
from collections.abc import Iterator, Mapping

from lamina.kernel.redact import is_secret_name, redact
from lamina.kernel.secret_shapes import is_placeholder


def secret_line(text: str) -> int | None:
    """The number of the first line that holds a secret, counted from 1; None where there is none."""
    hidden = redact(text, emails=False)
    if hidden == text:
        return None
    pairs = zip(text.split("\n"), hidden.split("\n"), strict=False)
    return next((number for number, (line, shown) in enumerate(pairs, start=1) if line != shown), 1)


def secret_path(value: object, *, ignoring: re.Pattern[str] | None = None) -> str | None:
    """The path of the first text in a JSON-like value that is a secret, such as `headers.0.token`; None without one.

    A secret is also what stands under the name of one. What `ignoring` matches, such as references, counts as nothing.
    """
    for path, name, text in _texts(value, "", ""):
        bare = text if ignoring is None else ignoring.sub("", text)
        if redact(bare, emails=False) != bare or (is_secret_name(name) and not is_placeholder(bare.strip())):
            return path
    return None


def _texts(value: object, path: str, name: str) -> Iterator[tuple[str, str, str]]:
    """Every text inside a value, with its path and the name it stands under."""
    if isinstance(value, str):
        yield path, name, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _texts(inner, f"{path}.{key}" if path else str(key), str(key))
    elif isinstance(value, list | tuple):
        for place, inner in enumerate(value):
            yield from _texts(inner, f"{path}.{place}" if path else str(place), name)
