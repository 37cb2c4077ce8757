"""Identifiers: UUIDv7 text, so that ids sort by the time they were made.

Layout (RFC 9562): 48 bits of Unix milliseconds, version, variant, a 42-bit counter in two parts that starts
at random in each millisecond and then counts upwards, 32 random bits.
"""

import os
import re
import threading
import time

_COUNTER_BITS = 42
_FORM = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


class _Sequence:
    """The last moment and counter handed out; each step is strictly above the one before it."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self._lock = threading.Lock()
        self._millisecond = -1
        self._counter = 0

    def next(self, millisecond: int) -> tuple[int, int]:
        """The moment and counter of the next id.

        A clock that was set back keeps the last moment; a full counter borrows the next millisecond.
        """
        with self._lock:
            if millisecond > self._millisecond:
                self._millisecond = millisecond
                self._counter = _random_start()
            else:
                self._counter += 1
                if self._counter >> _COUNTER_BITS:
                    self._millisecond += 1
                    self._counter = _random_start()
            return self._millisecond, self._counter


def _random_start() -> int:
    # The top bit stays free, so that a millisecond has room for at least 2**41 ids.
    return int.from_bytes(os.urandom(6), "big") >> (48 - _COUNTER_BITS + 1)


_sequence = _Sequence()


def new_id() -> str:
    """A new UUIDv7, greater as text than every id this process made before; safe from any thread."""
    global _sequence
    if _sequence.process != os.getpid():
        # A forked child must neither repeat its parent's counter nor inherit a lock another thread held.
        _sequence = _Sequence()
    return _format(*_sequence.next(time.time_ns() // 1_000_000), int.from_bytes(os.urandom(4), "big"))


def is_id(text: str) -> bool:
    """Whether the text is a UUID in the canonical lower-case form that `new_id` writes."""
    return _FORM.fullmatch(text) is not None


def _format(millisecond: int, counter: int, tail: int) -> str:
    high, low = counter >> 30, counter & 0x3FFFFFFF
    value = millisecond << 80 | 0x7 << 76 | high << 64 | 0b10 << 62 | low << 32 | tail
    digits = f"{value:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
