"""What a key looks like to whoever holds it: `lamina_<id>_<256 random bits>`. Pure, but for the randomness."""

import hashlib
import re
import secrets
from typing import Final

PREFIX: Final = "lamina_"
"""How every key begins."""

_ID_BYTES: Final = 8
_SECRET_BYTES: Final = 32
_SHAPE: Final = re.compile(rf"{PREFIX}([0-9a-f]{{{2 * _ID_BYTES}}})_[0-9a-f]{{{2 * _SECRET_BYTES}}}")


def new_secret() -> tuple[str, str]:
    """The id of a new key, and its secret."""
    id = secrets.token_hex(_ID_BYTES)
    return id, f"{PREFIX}{id}_{secrets.token_hex(_SECRET_BYTES)}"


def id_in(secret: str) -> str | None:
    """The id of the key that this would be the secret of; None for what is no secret of ours."""
    found = _SHAPE.fullmatch(secret)
    return None if found is None else found[1]


def digest_of(secret: str) -> bytes:
    """What is stored of a secret. It is as random as a key of 256 bits can be, so one round of SHA-256 is enough."""
    return hashlib.sha256(secret.encode()).digest()


def without_secrets(text: str) -> str:
    """The text with the id alone of every key whose secret is in it."""
    return _SHAPE.sub(rf"{PREFIX}\1_…", text)
