"""Which messages of a client's history are stored already. Pure.

Clients send everything again with every turn: all of it, or the newest part, or only what is new. A message is known by
its digest and by its chain, a digest of everything before it too, so that the same words at another place are another
message, and a history that was edited is stored from where it differs.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from lamina.proxy.incoming import DIGEST

_PREFIX: Final = "openai-"
_MOST: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A stored message."""

    digest: bytes
    chain: bytes
    sequence: int = 0

    @property
    def id(self) -> str:
        """The id it is stored under, which says both."""
        return f"{_PREFIX}{self.chain.hex()}{self.digest.hex()}"


def known_from(id: str, sequence: int) -> Known | None:
    """What the id of a stored message says; None for one that did not come this way."""
    if not id.startswith(_PREFIX):
        return None
    try:
        both = bytes.fromhex(id.removeprefix(_PREFIX))
    except ValueError:
        return None
    if len(both) != 2 * DIGEST:
        return None
    return Known(chain=both[:DIGEST], digest=both[DIGEST:], sequence=sequence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Where a client's messages belong."""

    path: tuple[Known, ...]
    """The conversation up to the newest of them that is stored, as far as it is known."""
    sequences: tuple[int, ...]
    """The sequence number of each that is stored, from the first on; 0 for one that is older than what is known."""
    new: tuple[Known, ...]
    """Those that are not stored, the rest, with their chains and without numbers."""


@dataclass(slots=True)
class History:
    """What of one session is stored, as this process knows it."""

    path: list[Known] = field(default_factory=list)
    """The conversation as it was last seen, oldest first."""
    chains: dict[bytes, Known] = field(default_factory=dict)
    """Everything that is stored, of all branches."""
    answered: bool = False
    """Whether the newest message is an answer that came whole."""

    def place(self, digests: Sequence[bytes], *, alone: bool = False) -> Placed:
        """Find out which of a client's messages, oldest first, are new.

        `alone` says that there is no answer among them although the client named the session: then it sends only what
        is new, and the same words after an answer are said again.
        """
        if alone and self.answered and self.path:
            return _placed(self.path, (), digests)
        chains = chained(b"", digests)
        for count in range(len(digests), 0, -1):
            if chains[count - 1] in self.chains:
                found = [self.chains.get(chain) for chain in chains[:count]]
                sequences = tuple(0 if one is None else one.sequence for one in found)
                return _placed([one for one in found if one is not None], sequences, digests)
        return self._overlapping(digests)

    def follow(self, placed: Placed, stored: Sequence[Known], *, answered: bool = False) -> None:
        """Note what was stored after a place."""
        self.path = [*placed.path, *stored][-_MOST:]
        self.chains.update((one.chain, one) for one in stored)
        while len(self.chains) > 2 * _MOST:
            del self.chains[next(iter(self.chains))]
        if stored:
            self.answered = answered

    def _overlapping(self, digests: Sequence[bytes]) -> Placed:
        """Where the client sent a part of the conversation: the newest messages that follow each other in both."""
        places: dict[bytes, list[int]] = {}
        for at, one in enumerate(self.path):
            places.setdefault(one.digest, []).append(at)
        for last in range(len(digests) - 1, -1, -1):
            at, run = max(
                ((at, self._run(digests, last, at)) for at in places.get(digests[last], ())),
                key=lambda found: (found[1], found[0]),
                default=(0, 0),
            )
            # A single word in the middle says nothing; at the beginning it is where the part begins.
            if run >= 2 or run == last + 1:
                shown = (
                    *(0 for _ in range(last + 1 - run)),
                    *(one.sequence for one in self.path[at + 1 - run : at + 1]),
                )
                return _placed(self.path[: at + 1], shown, digests)
        return _placed(self.path, (), digests, chain=b"")

    def _run(self, digests: Sequence[bytes], last: int, at: int) -> int:
        """How many messages up to `last` are, in a row, those of the path up to `at`."""
        run = 0
        while run <= min(last, at) and digests[last - run] == self.path[at - run].digest:
            run += 1
        return run


def chained(before: bytes, digests: Sequence[bytes]) -> list[bytes]:
    """The chain of each message after one whose chain is `before`."""
    chains = []
    for digest in digests:
        before = hashlib.blake2b(before + digest, digest_size=DIGEST).digest()
        chains.append(before)
    return chains


def _placed(
    path: Sequence[Known], sequences: tuple[int, ...], digests: Sequence[bytes], chain: bytes | None = None
) -> Placed:
    rest = digests[len(sequences) :]
    before = chain if chain is not None else path[-1].chain if path else b""
    new = tuple(Known(digest=digest, chain=each) for digest, each in zip(rest, chained(before, rest), strict=True))
    return Placed(path=tuple(path), sequences=sequences, new=new)
