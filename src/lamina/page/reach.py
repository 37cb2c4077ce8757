"""Whose memories are looked at: the layers within reach in the order they win, and the people and places there are."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self

from lamina.memory.scopes import ScopeCount
from lamina.memory.types import Identifiers, MemoryLayer
from lamina.page.looking import Looking
from lamina.page.pieces import nothing, tag
from lamina.page.text import one_line

Show = Callable[[Looking], Awaitable[None]]
"""Shows what somebody wants to look at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """One layer as a caller has it."""

    layer: MemoryLayer
    identifiers: Identifiers | None
    """Of which scope it is; None where identifiers are missing."""
    missing: tuple[str, ...] = ()
    entries: int = 0
    others: tuple[ScopeCount, ...] = ()
    """Scopes of the layer that one more identifier would open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder:
    """Seven layers, the one that wins first."""

    looking: Looking
    rungs: tuple[Rung, ...]
    bound: Collection[str] = ()
    """Identifiers that come with the key and cannot be put away."""

    @classmethod
    def of(
        cls, looking: Looking, reached: Identifiers, own: Sequence[ScopeCount], *, bound: Collection[str] = ()
    ) -> Self:
        """The ladder of identifiers that the hierarchy completed, and the scopes they reach."""
        given, rungs = reached.to_dict(), []
        for layer in MemoryLayer:
            missing = tuple(name for name in layer.required if name not in given)
            place = None if missing else reached.for_layer(layer)
            of_layer = [one for one in own if one.layer is layer]
            rungs.append(
                Rung(
                    layer=layer,
                    identifiers=place,
                    missing=missing,
                    entries=sum(one.entries for one in of_layer if one.identifiers == place),
                    others=tuple(one for one in of_layer if one.identifiers != place),
                )
            )
        return cls(looking=looking, rungs=tuple(rungs), bound=bound)

    @property
    def reached(self) -> tuple[MemoryLayer, ...]:
        """The layers that a search covers."""
        return tuple(rung.layer for rung in self.rungs if rung.identifiers is not None)

    def draw(self, show: Show) -> None:
        """Draw who is looked at and the layers; a click chooses one."""
        self._draw_looking(show)
        tag("h3", "Which layer wins")
        with tag("ol", classes="rungs"):
            if self.reached:
                with tag("li"):
                    every = tag("button", classes="rung", type="button", aria_pressed=_pressed(not self.looking.layer))
                    every.on("click", partial(show, self.looking.within(None)), [])
                    with every:
                        tag("span", "", classes="rank")
                        tag("span", "all within reach")
            for rung in self.rungs:
                with tag("li"):
                    self._draw_rung(rung, show)

    def _draw_looking(self, show: Show) -> None:
        named = self.looking.identifiers.to_dict()
        tag("h3", "Looking as" if named or self.bound else "Whose memories")
        if not named and not self.bound:
            tag("p", "Choose somebody, or search for a name.", classes="note")
        with tag("div", classes="looking"):
            for name, value in named.items():
                chip = tag("button", type="button", aria_label=f"Put away {_word(name)} {one_line(value, 60)}")
                chip.on("click", partial(show, self.looking.without(name)), [])
                with chip:
                    tag("span", f"{_word(name)} {one_line(value, 60)}")
                    tag("span", "×", aria_hidden="true")
        if named and not self.bound:
            another = tag("button", "Choose somebody or a place as well", classes="plain", type="button")
            another.on("click", partial(show, self.looking.choose()), [])

    def _draw_rung(self, rung: Rung, show: Show) -> None:
        if rung.identifiers is None:
            self._draw_out_of_reach(rung, show)
            return
        chosen = _pressed(self.looking.layer is rung.layer)
        button = tag("button", classes="rung", type="button", aria_pressed=chosen)
        button.on("click", partial(show, self.looking.within(rung.layer)), [])
        with button:
            tag("span", str(rung.layer.precedence), classes="rank")
            with tag("span", rung.layer.value):
                tag("span", _names(rung.identifiers), classes="who-is")
            tag("span", f"{rung.entries:,}", classes="count")

    def _draw_out_of_reach(self, rung: Rung, show: Show) -> None:
        with tag("div", classes="rung out"):
            tag("span", str(rung.layer.precedence), classes="rank")
            with tag("span", rung.layer.value):
                tag("span", f"needs {' and '.join(map(_word, rung.missing))}", classes="who-is")
        for other in rung.others[:12]:
            button = tag("button", classes="rung", type="button")
            button.on("click", partial(show, self.looking.as_well(other.layer, other.identifiers)), [])
            with button:
                tag("span", "", classes="rank")
                tag("span", _names(other.identifiers), classes="who-is")
                tag("span", f"{other.entries:,}", classes="count")


def draw_people(found: Sequence[ScopeCount], looking: Looking, show: Show) -> None:
    """Everybody and every place there are memories of, to choose from."""
    if not found and looking.query:
        nothing("Nobody and no place is called that.", "While nobody is chosen, a search finds people and places.")
        return
    if not found:
        nothing(
            "Nothing is remembered yet.",
            "An agent that is connected remembers by itself; one command does too.",
            command='lamina add "Prefers dark mode in every editor" --user ana --tag ui',
        )
        return
    for layer in MemoryLayer:
        of_layer = [one for one in found if one.layer is layer]
        if not of_layer:
            continue
        with tag("div", classes="section-head"):
            tag("span", str(layer.precedence), classes="rank")
            tag("h2", f"{layer.value.capitalize()} layer")
        with tag("div", classes="people"):
            for one in of_layer:
                button = tag("button", classes="person", type="button")
                button.on("click", partial(show, looking.as_well(one.layer, one.identifiers)), [])
                with button:
                    tag("span", _names(one.identifiers))
                    tag("span", f"{one.entries:,}", classes="count")


def _names(identifiers: Identifiers) -> str:
    return " · ".join(one_line(value, 60) for value in identifiers.to_dict().values())


def _word(name: str) -> str:
    return name.removesuffix("_id")


def _pressed(chosen: bool) -> str:
    return "true" if chosen else "false"
