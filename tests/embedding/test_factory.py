"""From a setting to an embedder."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lamina.embedding.factory import GROUP, create_embedder
from lamina.embedding.onnx import OnnxEmbedder
from lamina.embedding.openai import OpenAIEmbedder
from lamina.embedding.settings import EmbeddingSettings
from lamina.embedding.static import StaticEmbedder
from lamina.errors import ConfigurationError
from tests.embedding.server import EmbeddingsServer
from tests.embedding.tiny_model import write_folder
from tests.endpoint.loopback import running

pytestmark = pytest.mark.anyio

THIRD_PARTY = """
from lamina.embedding.static import StaticEmbedder

async def create(request):
    made = StaticEmbedder()
    made.argument = request.argument
    return made
"""


def install(folder: Path, name: str) -> None:
    """Lay out a distribution as an installer would, with one entry point."""
    (folder / "house_embedder.py").write_text(THIRD_PARTY)
    metadata = folder / "house_embedder-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: house-embedder\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = house_embedder:create\n")


async def test_the_default_is_the_shipped_model() -> None:
    assert isinstance(await create_embedder(EmbeddingSettings(), environ={}), StaticEmbedder)


async def test_a_kind_is_found_in_any_case_and_with_spaces_around() -> None:
    assert isinstance(await create_embedder(EmbeddingSettings(model=" Static "), environ={}), StaticEmbedder)


async def test_everything_after_the_first_colon_belongs_to_the_model() -> None:
    with running(EmbeddingsServer()) as server:
        settings = EmbeddingSettings(model="openai:house-model:latest", base_url=server.url)
        embedder = await create_embedder(settings, environ={})
        assert isinstance(embedder, OpenAIEmbedder)
        assert embedder.name == "openai:house-model:latest:8"
        await embedder.aclose()


async def test_a_folder_makes_an_onnx_embedder(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tiny")
    embedder = await create_embedder(EmbeddingSettings(model=f"onnx:{folder}"), environ={})
    assert isinstance(embedder, OnnxEmbedder)


async def test_a_folder_without_a_static_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"model\.json"):
        await create_embedder(EmbeddingSettings(model=f"static:{tmp_path}"), environ={})


async def test_an_unknown_kind_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match="'word2vec'; known are: fastembed, onnx, openai, static"):
        await create_embedder(EmbeddingSettings(model="word2vec:x"), environ={})


async def test_a_third_party_adds_a_kind_by_an_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "house")
    monkeypatch.syspath_prepend(tmp_path)
    embedder = await create_embedder(EmbeddingSettings(model="house:some/model"), environ={})
    assert isinstance(embedder, StaticEmbedder)
    assert vars(embedder)["argument"] == "some/model"
    with pytest.raises(ConfigurationError, match="known are: fastembed, house, onnx"):
        await create_embedder(EmbeddingSettings(model="other"), environ={})


async def test_a_third_party_cannot_take_a_built_in_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "static")
    monkeypatch.syspath_prepend(tmp_path)
    assert "argument" not in vars(await create_embedder(EmbeddingSettings(), environ={}))


async def test_the_default_loads_no_optional_package() -> None:
    script = (
        "import sys, json, anyio\n"
        "from lamina.embedding.factory import create_embedder\n"
        "from lamina.embedding.settings import EmbeddingSettings\n"
        "async def main(): await create_embedder(EmbeddingSettings(), environ={})\n"
        "anyio.run(main)\n"
        "print(json.dumps([n for n in ('openai', 'onnxruntime', 'fastembed') if n in sys.modules]))\n"
    )
    source = str(Path(__file__).parents[2] / "src")
    run = subprocess.run(
        [sys.executable, "-c", script], env={"PYTHONPATH": source}, capture_output=True, text=True, check=True
    )
    assert json.loads(run.stdout) == []
