"""What the house asks of a text: can it be stored, what identifies it, what makes two texts the same."""

import hashlib
import re
import unicodedata
from datetime import UTC, datetime

_URL_PASSWORD = re.compile(r"([a-z][a-z0-9+.-]*://[^:/?#@\s]*):\S*@", re.IGNORECASE)
_URL_SECRET = re.compile(r"([?&][^=&\s]*(?:password|passwd|secret|token|key)[^=&\s]*=)[^&\s]*", re.IGNORECASE)
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164"
    "\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
    # Joiners and variants shape letters of other scripts and pictures; beside a Latin letter nobody sees them.
    "|(?:^|(?<=[\x00-\u02ff]))[\u200c\u200d\ufe00-\ufe0f]|[\u200c\u200d](?:(?=[\x00-\u02ff])|$)"
)


def unstorable(text: str) -> str | None:
    """Why the text cannot be stored exactly on every engine, as a phrase; None when it can."""
    if "\x00" in text:
        return "contains a NUL character"
    if not text.isascii() and _SURROGATE.search(text):
        return "contains a lone surrogate"
    return None


def mended(text: str) -> str:
    """The text with the replacement character for what cannot be stored, where nobody can be asked to say it again."""
    return text if unstorable(text) is None else _UNSTORABLE.sub("\ufffd", text)


def unseen(text: str) -> int | None:
    """Where the first character stands that no reader sees, such as a zero-width space; None where there is none.

    Joiners between letters of scripts that need them, and within pictures, are seen in what they join.
    """
    if text.isascii():
        return None
    found = _UNSEEN.search(text)
    return None if found is None else found.start()


def content_hash(text: str) -> bytes:
    """The SHA-256 of the text in UTF-8, 32 bytes; raises UnicodeEncodeError for a lone surrogate."""
    return hashlib.sha256(text.encode()).digest()


def normalise(text: str) -> str:
    """The text as duplicates are compared: compatibility forms, case and white space folded; idempotent."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    # Folding case can leave characters that compose or decompose again, hence the second pass.
    return " ".join(unicodedata.normalize("NFKC", folded).casefold().split())


def mask_secrets(text: str) -> str:
    """The text with passwords and keys inside addresses replaced by `***`, for messages and tables."""
    return _URL_SECRET.sub(r"\1***", _URL_PASSWORD.sub(r"\1:***@", text))


def moment_text(moment: datetime) -> str:
    """A moment as text: ISO 8601 in UTC with every microsecond."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
