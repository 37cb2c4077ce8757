"""The pieces that pages are made of: cards, tables, figures, badges, bars, and what is said where there is nothing."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from nicegui import ui
from nicegui.element import Element
from nicegui.elements.mixins.text_element import TextElement

Cell = str | int | float | None | Callable[[], object]
"""What stands in a table: text, a number, or a function that draws it."""


def tag(name: str, text: str = "", *, classes: str = "", **attributes: str) -> Element:
    """An HTML element with a text in it, never HTML; `aria_label` becomes `aria-label`."""
    element = TextElement(tag=name, text=text) if text else Element(name)
    if classes:
        element.classes(classes)
    for attribute, value in attributes.items():
        element.props[attribute.rstrip("_").replace("_", "-")] = value
    return element


@contextmanager
def card(title: str = "", *, note: str = "", classes: str = "") -> Iterator[Element]:
    """A titled box; what is drawn inside it belongs to it."""
    with tag("section", classes=f"card {classes}") as box:
        if title:
            with tag("div", classes="card-head"):
                tag("h2", title)
                if note:
                    tag("span", note, classes="note")
        yield box


@contextmanager
def grid(*, classes: str = "") -> Iterator[Element]:
    """Pieces beside each other where there is room, below each other where there is none."""
    with tag("div", classes=f"grid {classes}") as box:
        yield box


def figure(label: str, value: str, *, note: str = "", tone: str = "") -> Element:
    """A number with its name; `tone` is good, warn or bad."""
    with tag("div", classes=f"figure {tone}") as box:
        tag("div", label, classes="figure-label")
        tag("div", value, classes="figure-value")
        if note:
            tag("div", note, classes="figure-note")
    return box


def badge(text: str, *, tone: str = "") -> Element:
    """A short word about something: a layer, a state; `tone` is accent, good, warn or bad."""
    return tag("span", text, classes=f"badge {tone}")


def bar(share: float, *, label: str, tone: str = "") -> Element:
    """A thin bar that is full at 1; the label is what a screen reader says."""
    with tag("div", classes=f"bar {tone}", role="img", aria_label=label) as box:
        tag("div", classes="bar-fill").style(f"width:{max(0.0, min(1.0, share)) * 100:.1f}%")
    return box


def columns(values: Sequence[tuple[str, int]], *, label: str) -> Element:
    """A small chart of columns, each with its name; the label and the numbers are what a screen reader says."""
    most = max((value for _, value in values), default=0) or 1
    told = ", ".join(f"{name} {value}" for name, value in values if name and value)
    with tag("div", classes="columns", role="img", aria_label=f"{label}: {told or 'none'}") as box:
        for name, value in values:
            column = tag("div", classes="column-bar", title=f"{name}: {value:,}".strip(": "))
            column.style(f"height:{value / most * 100:.1f}%")
    if values and values[0][0]:
        with tag("div", classes="columns-ends"):
            tag("span", values[0][0])
            tag("span", values[-1][0])
    return box


def times(count: int) -> str:
    """How often something happened, in words."""
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count:,} times")


def nothing(title: str, *steps: str, command: str = "") -> Element:
    """What is said where there is nothing: why, what to do next, and the command that does it."""
    with tag("div", classes="nothing") as box:
        tag("p", title, classes="nothing-title")
        for step in steps:
            tag("p", step)
        if command:
            tag("code", command, classes="command")
    return box


def copyable(text: str) -> Element:
    """A command or a record, with a button that copies it."""
    with tag("div", classes="copyable") as box:
        tag("pre", text, classes="code-block")
        button = tag("button", "Copy", classes="plain", type="button")
        button.on("click", js_handler="(event) => lamina.copy(event.currentTarget)")
    return box


def table(columns: Sequence[str], rows: Iterable[Sequence[Cell]], *, empty: str = "", label: str = "") -> Element:
    """A table of text; numbers stand at the right. `empty` is said when there is no row."""
    with tag("div", classes="table-box", tabindex="0", role="region", aria_label=label or columns[0]) as box:
        filled = list(rows)
        if not filled and empty:
            nothing(empty)
            return box
        with tag("table"):
            with tag("thead"), tag("tr"):
                for at, column in enumerate(columns):
                    of_numbers = all(isinstance(row[at], int | float) for row in filled)
                    tag("th", column, scope="col", classes="number" if of_numbers else "")
            with tag("tbody"):
                for row in filled:
                    with tag("tr"):
                        for cell in row:
                            _cell(cell)
    return box


def _cell(cell: Cell) -> None:
    if callable(cell):
        with tag("td"):
            cell()
    elif isinstance(cell, int | float):
        tag("td", f"{cell:,}" if isinstance(cell, int) else f"{cell:.2f}", classes="number")
    else:
        tag("td", "–" if cell is None else cell)


def action(text: str, handler: Callable[..., object], *, kind: str = "", icon: str = "") -> ui.button:
    """A button; `kind` is primary, danger or empty for an ordinary one."""
    return (
        ui.button(text, on_click=handler, icon=icon or None, color=None)
        .props("unelevated no-caps dense no-wrap")
        .classes(f"action {kind}")
    )
