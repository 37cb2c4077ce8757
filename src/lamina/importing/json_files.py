"""Reads JSON of any size one item at a time: a list, objects one after another, or an object that holds a list."""

import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Never, TextIO

from lamina.errors import InvalidInputError

_CHUNK = 1 << 20
_LARGEST_ITEM = 256 * _CHUNK
"""Characters of one item at most, so that a file without an end does not fill the memory."""
_SPACE = " \t\r\n\ufeff"


def json_items(path: Path, *, lists: Sequence[str] = (), names: str = "*.json") -> Iterator[dict[str, Any]]:
    """The objects of a JSON file, of a zip archive or of a folder of such files, in order.

    A file holds a list of objects, objects one after another, or one object with the list under one of the keys in
    `lists`; `names` chooses among the files of an archive or folder. Raises InvalidInputError.
    """
    found = False
    for name, text in _documents(path, names):
        found = True
        yield from _objects(_Reading(name, text), lists)
    if not found:
        raise InvalidInputError(f"There is no {names} in {path}.", details={"next": "Name the file itself."})


def _documents(path: Path, names: str) -> Iterator[tuple[str, TextIO]]:
    try:
        if path.is_dir():
            for each in sorted(one for one in path.iterdir() if fnmatch(one.name, names)):
                with each.open(encoding="utf-8") as text:
                    yield str(each), text
        elif zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive, ExitStack() as stack:
                for member in sorted(one for one in archive.namelist() if fnmatch(Path(one).name, names)):
                    stream = stack.enter_context(archive.open(member))
                    yield f"{path}:{member}", io.TextIOWrapper(stream, encoding="utf-8")
        else:
            with path.open(encoding="utf-8") as text:
                yield str(path), text
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}.") from error
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:  # damaged, encrypted, unknown packing
        raise InvalidInputError(f"{path} cannot be unpacked: {error}") from error


def _objects(reading: "_Reading", lists: Sequence[str]) -> Iterator[dict[str, Any]]:
    first = reading.peek()
    if first == "[":
        reading.skip()
        items = reading.listed()
    elif first == "{":
        items = reading.sequence()
    else:
        reading.refuse("it holds neither a list nor an object")
    for item in items:
        if not isinstance(item, dict):
            reading.refuse("something in it is not an object")
        inner = next((item[key] for key in lists if isinstance(item.get(key), list)), None)
        if inner is None:
            yield item
        else:
            yield from (each for each in inner if isinstance(each, dict))


class _Reading:
    """A file under way: as much of it as the current item needs is in memory."""

    def __init__(self, name: str, text: TextIO) -> None:
        self._name = name
        self._text = text
        self._buffer = ""
        self._at = 0
        self._ended = False
        self._decoder = json.JSONDecoder()

    def peek(self) -> str:
        """The next character that is no space; empty at the end."""
        while True:
            while self._at < len(self._buffer):
                if self._buffer[self._at] not in _SPACE:
                    return self._buffer[self._at]
                self._at += 1
            if not self._more():
                return ""

    def skip(self) -> None:
        """Leave a character behind."""
        self._at += 1

    def listed(self) -> Iterator[object]:
        """The items of a list whose bracket was just left behind."""
        while (character := self.peek()) != "]":
            if not character:
                self.refuse("the list has no end")
            yield self._item()
            if (after := self.peek()) == ",":
                self.skip()
            elif after != "]":
                self.refuse("a comma is missing")

    def sequence(self) -> Iterator[object]:
        """Objects one after another, with a line end, a space or nothing between them."""
        while self.peek():
            yield self._item()

    def refuse(self, why: str) -> Never:
        """Raise what is wrong with the file."""
        raise InvalidInputError(f"{self._name} is not the JSON it should be: {why}.", details={"file": self._name})

    def _item(self) -> object:
        while True:
            try:
                item, end = self._decoder.raw_decode(self._buffer, self._at)
            except RecursionError:
                self.refuse("it is nested too deeply")
            except ValueError as error:
                if not self._more():
                    self.refuse(str(error))
                continue
            if end == len(self._buffer) and not isinstance(item, dict | list) and self._more():
                continue  # a number may go on in the next piece
            self._at = end
            return item

    def _more(self) -> bool:
        """Read on; as much again as is there, so that a large item is not begun over and over."""
        if self._ended:
            return False
        self._buffer, self._at = self._buffer[self._at :], 0
        if len(self._buffer) > _LARGEST_ITEM:
            self.refuse("one item in it is too large")
        try:
            piece = self._text.read(max(_CHUNK, len(self._buffer)))
        except UnicodeDecodeError:
            self.refuse("it is not UTF-8")
        except (OSError, EOFError, zipfile.BadZipFile) as error:
            self.refuse(str(error))
        self._ended = not piece
        self._buffer += piece
        return bool(piece)
