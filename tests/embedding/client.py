"""The embedder under test, connected to the server of the tests."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamina.embedding import openai
from lamina.embedding.factory import EmbedderRequest
from lamina.embedding.openai import OpenAIEmbedder
from lamina.embedding.settings import EmbeddingSettings
from tests.embedding.server import EmbeddingsServer, vector

KEY = "secretkey_abcdef"
"""Looks like an error code, the form of a key that is hardest to keep out of errors."""


async def opened(server: EmbeddingsServer, *, model: str = "house-model", **settings: Any) -> OpenAIEmbedder:
    chosen = EmbeddingSettings(base_url=server.url, **settings)
    return await openai.create(EmbedderRequest(argument=model, settings=chosen, environ={"OPENAI_API_KEY": KEY}))


def expected(*texts: str, dimensions: int = 8) -> NDArray[np.float32]:
    rows = np.array([vector(text, dimensions) for text in texts])
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)
