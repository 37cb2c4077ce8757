"""Finding what a name in a setting stands for: built in, or registered by another package's entry point."""

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points

from lamina.errors import ConfigurationError


def built_in(group: str, places: Mapping[str, str]) -> dict[str, EntryPoint]:
    """Our own kinds as entry points, so that they are loaded only when asked for, like a third party's."""
    return {kind: EntryPoint(name=kind, value=place, group=group) for kind, place in places.items()}


def find_plugin(kind: str, *, noun: str, group: str, known: Mapping[str, EntryPoint]) -> EntryPoint:
    """The entry point of this kind, of `known` before any other package's.

    Raises ConfigurationError, with the kinds that exist, when there is none; `noun` is what they are.
    """
    wanted = kind.strip().lower()
    if wanted in known:
        return known[wanted]
    registered = {point.name.lower(): point for point in entry_points(group=group)}
    if wanted not in registered:
        names = ", ".join(sorted({*known, *registered}))
        raise ConfigurationError(
            f"There is no {noun} of the kind {wanted!r}; known are: {names}.", details={"kind": wanted}
        )
    return registered[wanted]
