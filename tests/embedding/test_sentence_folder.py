"""What a folder says of the model in it."""

from pathlib import Path

import pytest

from lamina.embedding.sentence_folder import read_folder
from lamina.embedding.settings import EmbeddingSettings
from lamina.errors import ConfigurationError
from tests.embedding.tiny_model import write_folder

DEFAULT = EmbeddingSettings()


def test_the_model_may_be_in_a_folder_of_its_own(tmp_path: Path) -> None:
    found = read_folder(write_folder(tmp_path / "tiny", subfolder="onnx"), DEFAULT)
    assert found.model_file.parent.name == "onnx"
    assert found.tokenizer_file.parent.name == "tiny"


def test_the_configuration_tells_the_family_where_the_folders_name_does_not(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "model", config={"_name_or_path": "BAAI/bge-base-en-v1.5"})
    found = read_folder(folder, DEFAULT)
    assert found.prefixes.query.startswith("Represent")
    assert found.token_pooling == "cls"


@pytest.mark.parametrize(
    ("config", "pooling"),
    [
        ({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}, "mean"),
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode_lasttoken": True}, "last"),
        ({"pooling_mode": "lasttoken"}, "last"),
        ({"word_embedding_dimension": 6}, "mean"),
    ],
)
def test_the_pooling_is_read_from_its_file(tmp_path: Path, config: dict[str, object], pooling: str) -> None:
    assert read_folder(write_folder(tmp_path / "tiny", pooling_config=config), DEFAULT).token_pooling == pooling


@pytest.mark.parametrize(
    "config",
    [
        {"pooling_mode_max_tokens": True},
        {"pooling_mode": "weightedmean"},
        {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True},
        {"pooling_mode_max_tokens": True, "pooling_mode_mean_tokens": True},
    ],
)
def test_an_unsupported_pooling_is_refused_unless_settings_decide(tmp_path: Path, config: dict[str, object]) -> None:
    folder = write_folder(tmp_path / "tiny", pooling_config=config)
    with pytest.raises(ConfigurationError, match="set pooling"):
        read_folder(folder, DEFAULT)
    assert read_folder(folder, EmbeddingSettings(pooling="mean")).pooling == "mean"


@pytest.mark.parametrize(
    ("config", "tokens"),
    [
        ({}, 512),
        ({"max_position_embeddings": 2048}, 512),
        ({"max_position_embeddings": 128}, 128),
        ({"max_position_embeddings": 514, "model_type": "xlm-roberta"}, 512),
        ({"max_position_embeddings": 130, "model_type": "roberta"}, 128),
        ({"max_position_embeddings": "many"}, 512),
        ({"max_position_embeddings": -1}, 512),
    ],
)
def test_no_more_tokens_are_read_than_the_model_has_positions(
    tmp_path: Path, config: dict[str, object], tokens: int
) -> None:
    assert read_folder(write_folder(tmp_path / "tiny", config=config), DEFAULT).max_tokens == tokens


def test_a_configuration_that_is_not_json_is_named(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tiny")
    (folder / "config.json").write_text("{")
    with pytest.raises(ConfigurationError, match=r"config\.json"):
        read_folder(folder, DEFAULT)


def test_weights_beside_the_model_are_part_of_its_identity(tmp_path: Path) -> None:
    found = read_folder(write_folder(tmp_path / "tiny"), DEFAULT)
    before = found.identity()
    (found.model_file.parent / "model.onnx_data").write_bytes(b"weights")
    assert found.identity() != before
