"""/v1/embeddings with the configured embedder, in OpenAI's form."""

import base64
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lamina.embedding.types import Embedder
from lamina.kernel.text import unstorable
from lamina.kernel.tokens import estimate_tokens
from lamina.proxy.error import EndpointError

_MOST_TEXTS: Final = 2048


async def embeddings(embedder: Embedder, body: Mapping[str, Any]) -> dict[str, Any]:
    """The vectors of the texts in `input`, in their order; `model` says whose they are, whatever was asked for.

    Raises EndpointError for what is no text or cannot be given, and what the embedder raises.
    """
    texts = _texts(body.get("input"))
    encoding = body.get("encoding_format") or "float"
    if encoding not in ("float", "base64"):
        raise _invalid("encoding_format must be float or base64.")
    if body.get("dimensions") not in (None, embedder.dimensions):
        raise _invalid(f"The model {embedder.name} gives {embedder.dimensions} dimensions; leave dimensions out.")
    vectors = await embedder.embed(texts, purpose="document")
    tokens = sum(map(estimate_tokens, texts))
    return {
        "object": "list",
        "data": [
            {"object": "embedding", "index": index, "embedding": _encoded(vector, encoding)}
            for index, vector in enumerate(vectors)
        ],
        "model": embedder.name,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def _texts(given: object) -> list[str]:
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise _invalid("input must be a text or a list of texts; token numbers of another model say nothing here.")
    if len(texts) > _MOST_TEXTS:
        raise _invalid(f"input has at most {_MOST_TEXTS} texts.")
    if any(not text.strip() or unstorable(text) is not None for text in texts):
        raise _invalid("input must not hold an empty text, a NUL or half of a surrogate pair.")
    return texts


def _encoded(vector: NDArray[np.float32], encoding: str) -> str | list[float]:
    if encoding == "float":
        floats: list[float] = vector.tolist()
        return floats
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()


def _invalid(message: str) -> EndpointError:
    return EndpointError(400, "invalid_input", message)
