"""Which layer a namespace of LangGraph belongs to. Pure.

A layout is a namespace with the names of identifiers in it, such as `("memories", "{user_id}")`; the identifiers say
which layer it is. A namespace belongs to the first layout that it begins with, and to a project where there is none.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lamina.errors import InvalidInputError
from lamina.memory.types import IDENTIFIER_NAMES, Identifiers, MemoryLayer

Namespace = tuple[str, ...]

LAYOUTS: Final[tuple[Namespace, ...]] = tuple(
    (layer.value, *(f"{{{name}}}" for name in layer.required)) for layer in MemoryLayer
)
"""A layer's name and its identifiers: `("user", "ann")`, `("agent", "helper", "ann")`, `("project", "web")`, ..."""

_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the items of a namespace are."""

    layer: MemoryLayer
    identifiers: Identifiers


class Namespaces:
    """Finds the places of namespaces."""

    def __init__(self, layouts: Sequence[Namespace], *, project_id: str) -> None:
        """Layouts in the order they are tried. Raises InvalidInputError for one whose identifiers are no layer's."""
        self._layouts = [(tuple(layout), _layer_of(layout)) for layout in layouts]
        self._otherwise = Place(layer=MemoryLayer.PROJECT, identifiers=Identifiers(project_id=project_id))

    def place(self, namespace: Namespace) -> Place:
        """Where the items of a namespace are."""
        for layout, layer in self._layouts:
            if len(namespace) >= len(layout) and _fits(layout, namespace):
                return Place(layer=layer, identifiers=_identifiers(layout, namespace))
        return self._otherwise

    def only_place(self, prefix: Namespace) -> Place | None:
        """Where everything is that begins so; None where that depends on how it goes on."""
        for layout, _ in self._layouts:
            if _fits(layout, prefix):
                return self.place(prefix) if len(prefix) >= len(layout) else None
        return self._otherwise


def matches(namespace: Namespace, path: Sequence[str], *, suffix: bool = False) -> bool:
    """Whether a namespace begins, or ends, with a path; `*` stands for any label."""
    if len(path) > len(namespace):
        return False
    part = namespace[len(namespace) - len(path) :] if suffix else namespace[: len(path)]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))


def _layer_of(layout: Sequence[str]) -> MemoryLayer:
    names = [found[1] for label in layout if (found := _PLACEHOLDER.fullmatch(label))]
    for layer in MemoryLayer:
        if sorted(layer.required) == sorted(names):
            return layer
    known = "; ".join(" and ".join(layer.required) for layer in MemoryLayer)
    raise InvalidInputError(
        f"A layout names the identifiers of one layer: {known}.",
        details={"field": "layouts", "identifiers": list(IDENTIFIER_NAMES)},
    )


def _fits(layout: Namespace, namespace: Namespace) -> bool:
    """Whether they agree as far as both go."""
    return all(_PLACEHOLDER.fullmatch(label) or label == given for label, given in zip(layout, namespace, strict=False))


def _identifiers(layout: Namespace, namespace: Namespace) -> Identifiers:
    pairs = zip(layout, namespace, strict=False)
    return Identifiers(**{found[1]: given for label, given in pairs if (found := _PLACEHOLDER.fullmatch(label))})
