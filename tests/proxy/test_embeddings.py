"""/v1/embeddings with the configured embedder."""

import base64
from typing import Any

import numpy as np
import openai
import pytest

from lamina.embedding.static import StaticEmbedder
from tests.proxy.served import House

TEXTS = ["A harbour in the morning", "Ein Hafen am Abend 🌅"]


def test_the_real_client_gets_the_vectors_of_the_embedder(served: House) -> None:
    answer = served.client().embeddings.create(model="any", input=TEXTS)
    expected = StaticEmbedder().encode(TEXTS)
    assert np.allclose([row.embedding for row in answer.data], expected, atol=1e-6)
    assert (answer.model, [row.index for row in answer.data]) == (StaticEmbedder().name, [0, 1])
    assert answer.usage.total_tokens > 0
    assert served.upstream.requests == []


def test_numbers_and_base64_say_the_same(served: House) -> None:
    floats, packed = (
        served.post("/embeddings", json={"input": TEXTS[0], "encoding_format": encoding}).json()["data"][0]["embedding"]
        for encoding in ("float", "base64")
    )
    assert np.array_equal(np.frombuffer(base64.b64decode(packed), dtype="<f4"), np.array(floats, dtype=np.float32))


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"input": []},
        {"input": ""},
        {"input": [" "]},
        {"input": [[1, 2, 3]]},
        {"input": 7},
        {"input": ["a\x00"]},
        {"input": ["a"] * 2049},
        {"input": "a", "encoding_format": "hex"},
        {"input": "a", "dimensions": 3},
    ],
)
def test_what_cannot_be_embedded_is_refused_with_a_reason(served: House, body: dict[str, Any]) -> None:
    answer = served.post("/embeddings", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "invalid_input"
    assert answer.json()["error"]["message"]


def test_an_embedder_that_fails_is_a_bad_gateway(served: House, monkeypatch: pytest.MonkeyPatch) -> None:
    from lamina.errors import EmbeddingFailedError

    async def fail(*_: Any, **__: Any) -> None:
        raise EmbeddingFailedError("The embedder is away.")

    monkeypatch.setattr(type(served.app.parts.embedder), "embed", fail)
    with pytest.raises(openai.InternalServerError) as raised:
        served.client().embeddings.create(model="any", input="a")
    assert (raised.value.status_code, raised.value.code) == (502, "embedding_failed")
