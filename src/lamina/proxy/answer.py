"""Reads an answer while it passes: JSON as a whole, a stream event by event. The bytes themselves stay as they are.

Whatever cannot be read is not stored; the client gets it all the same.
"""

import json
import logging
import zlib
from collections.abc import Callable
from typing import Any, Final

from lamina.proxy.form import AnswerReader, ChatMessage
from lamina.proxy.headers import RawHeaders, text_of

_log = logging.getLogger("lamina.proxy")
_MOST_BYTES: Final = 64_000_000
_DONE: Final = b"[DONE]"


class Listening:
    """Listens to one answer and says what it was."""

    def __init__(self, reader: AnswerReader, ended: "Callable[[Listening], None]") -> None:
        """`ended` is told once, when the answer is over."""
        self.reader = reader
        self._ended = ended
        self._reads = False
        self._streams = False
        self._unpack: Any = None
        self._kept = bytearray()
        self._size = 0
        self.given_up: str | None = None
        """Why the answer was not read to its end."""

    def began(self, status: int, headers: RawHeaders) -> None:
        """Only successes are answers."""
        self._reads = status == 200
        self._streams = (text_of(headers, "content-type") or "").lower().startswith("text/event-stream")
        encoding = (text_of(headers, "content-encoding") or "identity").strip().lower()
        if encoding in ("gzip", "x-gzip", "deflate"):
            self._unpack = zlib.decompressobj(wbits=47)
        elif self._reads and encoding != "identity":
            self._give_up("unknown_encoding")

    def heard(self, piece: bytes) -> None:
        """Read what can be read so far."""
        if self._reads:
            self._guarded(lambda: self._take(piece))

    def _take(self, piece: bytes) -> None:
        try:
            data = piece if self._unpack is None else self._unpack.decompress(piece, _MOST_BYTES)
        except zlib.error:
            self._give_up("unreadable")
            return
        self._size += len(data)
        if self._size > _MOST_BYTES:
            self._give_up("too_long")
            return
        self._kept += data
        if self._streams:
            self._take_lines()

    def ended(self) -> None:
        """Read the rest, and tell.

        An answer is whole when the model said so: many clients leave as soon as they have read that.
        """
        if self._reads:
            self._guarded(self._take_rest)
        self._kept.clear()
        self._ended(self)

    def _take_rest(self) -> None:
        if self._streams:
            self._take_line(bytes(self._kept))
        elif (body := _object(bytes(self._kept))) is not None:
            self.reader.whole(body)
        else:
            self._give_up("unreadable")

    def _guarded(self, read: Callable[[], None]) -> None:
        try:
            read()
        except Exception:  # noqa: BLE001 -- isolation: an answer passes, whether or not we can read it
            _log.warning("an answer could not be read", exc_info=True)
            self._give_up("unreadable")

    @property
    def is_whole(self) -> bool:
        """Whether the model came to an end."""
        return self.reader.finished

    def messages(self) -> list[ChatMessage]:
        """What the assistant said, as far as it came."""
        return [] if self.given_up else self.reader.messages()

    def _give_up(self, why: str) -> None:
        self._reads, self.given_up = False, why
        self._kept.clear()

    def _take_lines(self) -> None:
        end = self._kept.rfind(b"\n")
        if end < 0:
            return
        lines = bytes(self._kept[:end]).split(b"\n")
        del self._kept[: end + 1]
        for line in lines:
            self._take_line(line)

    def _take_line(self, line: bytes) -> None:
        if not line.startswith(b"data:"):
            return
        data = line[5:].strip()
        event = None if data == _DONE else _object(data)
        if event is not None:
            self.reader.heard(event)


def _object(data: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
