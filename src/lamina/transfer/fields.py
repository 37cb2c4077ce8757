"""The fields of a record: each between its stored form and JSON, checked on the way in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from lamina.database.schema import dump_json, from_micros, load_json, to_micros
from lamina.kernel.checks import (
    check_choice,
    check_json,
    check_moment,
    check_name,
    check_number,
    check_tags,
    check_text,
    is_whole,
    refuse,
)
from lamina.kernel.redact import redact
from lamina.kernel.text import moment_text, unstorable

MOST = 2**53


@dataclass(frozen=True, slots=True)
class Field:
    """One field: `check` makes the stored form of what a line says, `show` what a line says of the stored form."""

    check: Callable[[str, object], Any]
    show: Callable[[Any], Any] = lambda stored: stored


class Shape:
    """The fields of a record by name, which are columns as well."""

    def __init__(self, what: str, **fields: Field) -> None:
        """`what` names the record in errors."""
        self._what = what
        self._fields = fields

    @property
    def names(self) -> tuple[str, ...]:
        """The fields, in their order."""
        return tuple(self._fields)

    def record(self, row: Sequence[Any]) -> dict[str, Any]:
        """The JSON object of a row whose columns begin with the fields."""
        return {name: field.show(value) for (name, field), value in zip(self._fields.items(), row, strict=False)}

    def values(self, given: object, *, further: Sequence[str] = ()) -> dict[str, Any]:
        """The stored form of what a line says; fields that it lacks are None.

        Raises InvalidInputError for a field that is wrong, and for one that is neither of these nor a `further` one.
        """
        if not isinstance(given, Mapping):
            refuse(f"The {self._what} must be an object.", None, field=self._what)
        for name in given:
            if name not in self._fields and name not in further:
                refuse(f"There is no field {ascii(name)[:80]} in {self._what}.", None, field=self._what)
        return {name: field.check(name, given.get(name)) for name, field in self._fields.items()}


def each(given: Mapping[str, Any], name: str, *, least: int = 0) -> Sequence[object]:
    """The list in a field. Raises InvalidInputError for anything else, and for a list that is too short."""
    found = given.get(name)
    if not isinstance(found, list) or len(found) < least:
        refuse(f"{name} must be a list{' of one or more' if least else ''}.", None, field=name)
    return found


def optional(field: Field) -> Field:
    """The same, or nothing."""
    return Field(
        lambda name, given: None if given is None else field.check(name, given),
        lambda stored: None if stored is None else field.show(stored),
    )


def hidden(field: Field, *, hide: bool = True) -> Field:
    """The same, with secrets in its text hidden, as the verbs of its room do it."""
    if not hide:
        return field
    return Field(lambda name, given: redact(field.check(name, given), emails=False), field.show)


def name(*, longest: int = 256) -> Field:
    """A name: not blank, without control characters."""
    return Field(lambda name, given: check_name(name, given, longest=longest))


def text(*, longest: int) -> Field:
    """A text that is not blank."""
    return Field(lambda name, given: check_text(name, given, longest=longest))


def words(*, longest: int = 2**26) -> Field:
    """Any text that a store can hold, the empty one too."""

    def check(name: str, given: object) -> str:
        if not isinstance(given, str) or len(given) > longest or unstorable(given) is not None:
            refuse(
                f"{name} must be a text of at most {longest} characters, without NUL or lone surrogates.",
                None,
                field=name,
            )
        return given

    return Field(check)


def choice(kind: type[StrEnum]) -> Field:
    """One of the values of an enumeration."""
    return Field(lambda name, given: check_choice(name, given, kind).value)


def whole(*, least: int = 0, most: int = MOST) -> Field:
    """A whole number."""

    def check(name: str, given: object) -> int:
        if not is_whole(given, least, most):
            refuse(f"{name} must be a whole number from {least} to {most}.", None, field=name)
        return int(given)

    return Field(check)


def number(*, least: float = 0.0, most: float = 1e300) -> Field:
    """A number."""
    return Field(lambda name, given: check_number(name, given, least=least, most=most))


def flag(*, stored: Callable[[bool], Any] = bool) -> Field:
    """True or false; `stored` is how the column has it."""

    def check(name: str, given: object) -> Any:
        if not isinstance(given, bool):
            refuse(f"{name} must be true or false.", None, field=name)
        return stored(given)

    return Field(check, bool)


def moment() -> Field:
    """A moment, ISO 8601 with a time zone."""

    def check(name: str, given: object) -> int:
        try:
            found = check_moment(name, datetime.fromisoformat(given))  # type: ignore[arg-type]
            assert found is not None
            return to_micros(found)
        except (TypeError, ValueError):
            refuse(f"{name} must be a moment with a time zone, such as 2026-05-01T12:00:00Z.", None, field=name)

    return Field(check, lambda stored: moment_text(from_micros(stored)))


def tags() -> Field:
    """Tags; none where the line says nothing."""
    return Field(lambda name, given: dump_json(list(check_tags(given))), load_json)


def json_object(*, max_size: int) -> Field:
    """An object of plain JSON; empty where the line says nothing."""
    return Field(lambda name, given: dump_json(check_json(name, given, max_size=max_size)), load_json)
