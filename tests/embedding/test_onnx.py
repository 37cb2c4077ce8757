"""Local sentence models: real runs of a tiny model."""

import importlib
import sys
from pathlib import Path

import anyio
import numpy as np
import pytest
from numpy.typing import NDArray

from lamina.embedding import onnx
from lamina.embedding.factory import EmbedderRequest
from lamina.embedding.onnx import OnnxEmbedder
from lamina.embedding.settings import EmbeddingSettings
from lamina.embedding.types import Embedder
from lamina.errors import ConfigurationError, EmbeddingFailedError
from tests.embedding.tiny_model import DIMENSIONS, TABLE, WORDS, write_folder

pytestmark = pytest.mark.anyio


async def opened(folder: Path, settings: EmbeddingSettings | None = None) -> OnnxEmbedder:
    chosen = settings or EmbeddingSettings()
    return await onnx.create(EmbedderRequest(argument=str(folder), settings=chosen, environ={}))


def expected(*words: str, pooling: str = "mean") -> NDArray[np.float32]:
    vectors = TABLE[[WORDS.index(word) for word in ("[CLS]", *words, "[SEP]")]]
    row = {"mean": vectors.mean(axis=0), "cls": vectors[0], "last": vectors[-1]}[pooling]
    return np.asarray(row / np.linalg.norm(row), dtype=np.float32)


async def test_it_is_an_embedder(tmp_path: Path) -> None:
    embedder: Embedder = await opened(write_folder(tmp_path / "tiny"))
    rows = await embedder.embed(["dark mode"], purpose="document")
    assert rows.dtype == np.float32
    assert rows.shape == (1, embedder.dimensions) == (1, DIMENSIONS)
    assert embedder.name.startswith("onnx:tiny:")
    await embedder.aclose()


@pytest.mark.parametrize("pooled", [False, True])
async def test_texts_keep_their_order_whatever_their_lengths(tmp_path: Path, pooled: bool) -> None:
    embedder = await opened(write_folder(tmp_path / "tiny", pooled=pooled), EmbeddingSettings(batch_size=2))
    texts = ["dark", "dark mode a b a b theme", "light theme", "", "mode", " \n", "a b"]
    rows = await embedder.embed(texts, purpose="document")
    for text, row in zip(texts, rows, strict=True):
        words = text.split()
        np.testing.assert_allclose(row, expected(*words) if words else np.zeros(DIMENSIONS), atol=1e-6)


async def test_padding_does_not_change_a_vector(tmp_path: Path) -> None:
    embedder = await opened(write_folder(tmp_path / "tiny"))
    alone = await embedder.embed(["dark"], purpose="document")
    beside = await embedder.embed(["dark", "a b a b a b a b"], purpose="document")
    np.testing.assert_allclose(alone[0], beside[0], atol=1e-6)


@pytest.mark.parametrize("pooling", ["mean", "cls", "last"])
async def test_settings_choose_the_pooling(tmp_path: Path, pooling: str) -> None:
    folder = write_folder(tmp_path / "tiny", pooling_config={"pooling_mode_mean_tokens": True})
    settings = EmbeddingSettings(pooling=pooling)  # type: ignore[arg-type]
    rows = await (await opened(folder, settings)).embed(["dark mode", "a b a"], purpose="document")
    np.testing.assert_allclose(rows[0], expected("dark", "mode", pooling=pooling), atol=1e-6)


async def test_the_folder_chooses_the_pooling_where_settings_do_not(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tiny", pooling_config={"pooling_mode_cls_token": True})
    rows = await (await opened(folder)).embed(["dark mode"], purpose="document")
    np.testing.assert_allclose(rows[0], expected("dark", "mode", pooling="cls"), atol=1e-6)


@pytest.mark.parametrize("inputs", [("input_ids",), ("input_ids", "attention_mask"), ("input_ids", "token_type_ids")])
async def test_a_model_is_fed_only_the_inputs_it_has(tmp_path: Path, inputs: tuple[str, ...]) -> None:
    embedder = await opened(write_folder(tmp_path / "tiny", inputs=inputs))
    rows = await embedder.embed(["dark"], purpose="document")
    np.testing.assert_allclose(rows[0], expected("dark"), atol=1e-6)


async def test_a_family_gets_its_prefixes(tmp_path: Path) -> None:
    embedder = await opened(write_folder(tmp_path / "e5-tiny"))
    query = await embedder.embed(["dark"], purpose="query")
    document = await embedder.embed(["dark"], purpose="document")
    np.testing.assert_allclose(query[0], expected("query", ":", "dark"), atol=1e-6)
    np.testing.assert_allclose(document[0], expected("passage", ":", "dark"), atol=1e-6)


async def test_an_empty_prefix_in_the_settings_means_none(tmp_path: Path) -> None:
    settings = EmbeddingSettings(query_prefix="", document_prefix="light ")
    embedder = await opened(write_folder(tmp_path / "e5-tiny"), settings)
    query = await embedder.embed(["dark"], purpose="query")
    document = await embedder.embed(["dark"], purpose="document")
    np.testing.assert_allclose(query[0], expected("dark"), atol=1e-6)
    np.testing.assert_allclose(document[0], expected("light", "dark"), atol=1e-6)


async def test_a_text_is_cut_at_max_tokens_and_not_at_the_tokenizers_own_limit(tmp_path: Path) -> None:
    embedder = await opened(write_folder(tmp_path / "tiny"), EmbeddingSettings(max_tokens=7))
    rows = await embedder.embed(["a b a b a b dark dark"], purpose="document")
    np.testing.assert_allclose(rows[0], expected("a", "b", "a", "b", "a"), atol=1e-6)


async def test_fewer_dimensions_keep_the_first_numbers_of_a_vector(tmp_path: Path) -> None:
    embedder = await opened(write_folder(tmp_path / "tiny"), EmbeddingSettings(dimensions=3))
    rows = await embedder.embed(["dark"], purpose="document")
    whole = expected("dark")[:3]
    assert embedder.dimensions == 3
    np.testing.assert_allclose(rows[0], whole / np.linalg.norm(whole), atol=1e-6)


async def test_more_dimensions_than_the_model_has_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="dimensions cannot be 7"):
        await opened(write_folder(tmp_path / "tiny"), EmbeddingSettings(dimensions=7))


async def test_the_name_changes_with_whatever_changes_the_vectors(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tiny")
    names = [
        (await opened(folder, settings)).name
        for settings in (
            EmbeddingSettings(),
            EmbeddingSettings(query_prefix="query: "),
            EmbeddingSettings(document_prefix="query: "),
            EmbeddingSettings(pooling="cls"),
            EmbeddingSettings(max_tokens=7),
            EmbeddingSettings(dimensions=3),
        )
    ]
    write_folder(folder, inputs=("input_ids",))
    names.append((await opened(folder)).name)
    assert len(set(names)) == len(names)


async def test_the_name_is_the_same_wherever_the_folder_is(tmp_path: Path) -> None:
    first = await opened(write_folder(tmp_path / "one" / "tiny"))
    second = await opened(write_folder(tmp_path / "two" / "tiny"), EmbeddingSettings(batch_size=3))
    assert first.name == second.name


async def test_a_lone_surrogate_does_not_stop_the_model(tmp_path: Path) -> None:
    embedder = await opened(write_folder(tmp_path / "tiny"))
    rows = await embedder.embed(["dark \ud800", "\ud800"], purpose="document")
    np.testing.assert_allclose(rows[0], expected("dark"), atol=1e-6)
    assert not rows[1].any()


async def test_no_texts_give_no_rows(tmp_path: Path) -> None:
    embedder = await opened(write_folder(tmp_path / "tiny"))
    assert (await embedder.embed([], purpose="document")).shape == (0, DIMENSIONS)


async def test_calls_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    embedder = await opened(write_folder(tmp_path / "tiny"))
    rows: dict[str, NDArray[np.float32]] = {}

    async def embed(text: str) -> None:
        rows[text] = (await embedder.embed([text], purpose="document"))[0]

    async with anyio.create_task_group() as group:
        for text in ("dark", "light", "dark mode", "a b a"):
            group.start_soon(embed, text)
    for text, row in rows.items():
        np.testing.assert_allclose(row, expected(*text.split()), atol=1e-6)


async def test_a_run_is_bounded_in_tokens_with_its_padding(tmp_path: Path) -> None:
    embedder = await opened(write_folder(tmp_path / "tiny"))
    runs = embedder._runs([512] * 40 + [8] * 300)
    assert [range(*run.indices(340)) for run in runs[:3]] == [range(16), range(16, 32), range(32, 48)]
    assert all(run.stop - run.start <= 128 for run in runs)
    assert runs[-1].stop >= 340


async def test_a_model_that_fails_on_a_text_is_reported_as_failed(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tiny")
    embedder = await opened(folder)
    # A tokenizer with more words than the table of the model has rows.
    embedder._tokenizer.add_tokens(["beyond"])
    with pytest.raises(EmbeddingFailedError, match="tiny failed"):
        await embedder.embed(["beyond"], purpose="document")


async def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no folder"):
        await opened(tmp_path / "nowhere")
    folder = write_folder(tmp_path / "tiny")
    (folder / "model.onnx").unlink()
    with pytest.raises(ConfigurationError, match=r"model\.onnx or onnx/model\.onnx"):
        await opened(folder)
    with pytest.raises(ConfigurationError, match="Name the folder"):
        await onnx.create(EmbedderRequest(argument="", settings=EmbeddingSettings(), environ={}))


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json"])
async def test_a_file_that_is_not_what_it_says_is_named(tmp_path: Path, file: str) -> None:
    folder = write_folder(tmp_path / "tiny")
    (folder / file).write_bytes(b"<html>not found</html>")
    with pytest.raises(ConfigurationError, match=file):
        await opened(folder)


async def test_a_model_with_unknown_inputs_is_refused(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tiny", inputs=("input_ids", "pixel_values"))
    with pytest.raises(ConfigurationError, match="pixel_values"):
        await opened(folder)


async def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.delitem(sys.modules, "lamina.embedding.onnx")
    with pytest.raises(ConfigurationError, match=r"pip install 'lamina\[onnx\]'"):
        importlib.import_module("lamina.embedding.onnx")
