"""The previous prompt of each session, to tell how much of the next one a provider's cache already has."""

from collections import OrderedDict
from collections.abc import Sequence

_MOST_SESSIONS = 512
_MOST_CHARACTERS = 16_000_000


class PreviousTurns:
    """Remembers the newest prompt of recent sessions, in this process only, bounded in number and in size."""

    def __init__(self, *, sessions: int = _MOST_SESSIONS, characters: int = _MOST_CHARACTERS) -> None:
        self._texts: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._sessions = sessions
        self._room = characters
        self._held = 0

    def follow(self, tenant: str, session_key: str | None, text: str, pieces: Sequence[tuple[str, int]]) -> int:
        """Remember the session's new prompt; the tokens it begins with that its previous one began with too.

        Without a session nothing is remembered. Tokens are counted by whole pieces and, in the one where the two
        part ways, by the share of its characters.
        """
        if session_key is None:
            return 0
        key = (tenant, session_key)
        before = self._texts.pop(key, "")
        self._texts[key] = text
        self._held += len(text) - len(before)
        while len(self._texts) > self._sessions or (self._held > self._room and self._texts):
            self._held -= len(self._texts.popitem(last=False)[1])
        return _tokens_within(pieces, common_prefix(before, text))

    def forget(self, tenant: str, session_key: str) -> None:
        """Let go of a session's prompt, as after the session was deleted."""
        self._held -= len(self._texts.pop((tenant, session_key), ""))


def common_prefix(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    low, high = 0, min(len(one), len(other))
    if one[:high] == other[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _tokens_within(pieces: Sequence[tuple[str, int]], characters: int) -> int:
    tokens = 0
    for text, size in pieces:
        if len(text) > characters:
            return tokens + size * characters // max(len(text), 1)
        tokens += size
        characters -= len(text)
    return tokens
