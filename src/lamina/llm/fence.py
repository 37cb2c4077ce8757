"""Other people's words inside a prompt: between marks that the words themselves cannot close."""

import hashlib


def fenced(text: str) -> str:
    """The text between two marks that carry its own digest: no text can contain the digest of itself."""
    mark = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
    return f"<<<data {mark}\n{text}\ndata {mark}>>>"
