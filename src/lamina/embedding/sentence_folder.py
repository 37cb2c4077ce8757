"""A sentence model in a local folder: its files, and how it wants to be used. Not for running it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lamina.embedding.families import Prefixes, TokenPooling, chosen_prefixes, family_of
from lamina.embedding.settings import EmbeddingSettings, Pooling
from lamina.errors import ConfigurationError

_MODEL_FILES: Final = ("model.onnx", "onnx/model.onnx")
_TOKENIZER_FILES: Final = ("tokenizer.json", "onnx/tokenizer.json")
_POOLING_KEYS: Final[Mapping[str, TokenPooling]] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "last",
}
_POOLING_NAMES: Final[Mapping[str, TokenPooling]] = {"mean": "mean", "cls": "cls", "lasttoken": "last"}
# These count positions from the padding id on, so that two of them cannot be used.
_OFFSET_POSITIONS: Final = frozenset({"roberta", "xlm-roberta", "camembert", "mpnet"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceFolder:
    """What is in the folder, and what the settings make of it."""

    title: str
    """The folder's name."""
    model_file: Path
    tokenizer_file: Path
    prefixes: Prefixes
    pooling: Pooling
    """What the settings ask for."""
    token_pooling: TokenPooling
    """What `auto` means where the model gives a vector per token."""
    max_tokens: int
    """Tokens of a text that are read, at most."""
    dimensions: int | None
    """How many numbers of each vector are kept; all when unset."""

    def identity(self) -> str:
        """`onnx:FOLDER:HASH`; the hash covers the model, its tokenizer and all that changes its vectors.

        Reads every file, so not for the event loop.
        """
        digest = hashlib.sha256()
        external = sorted(self.model_file.parent.glob(f"{self.model_file.name}[._]data*"))
        for file in (self.model_file, *external, self.tokenizer_file):
            with file.open("rb") as content:
                digest.update(hashlib.file_digest(content, "sha256").digest())
        use = [self.prefixes.query, self.prefixes.document, self.pooling, self.token_pooling]
        digest.update(json.dumps([*use, self.max_tokens, self.dimensions]).encode())
        return f"onnx:{self.title}:{digest.hexdigest()[:12]}"


def read_folder(path: Path, settings: EmbeddingSettings) -> SentenceFolder:
    """What the folder holds and how it is used.

    Settings come first, then `1_Pooling/config.json`, then what is known of the family that the folder's
    name or `config.json` points to. Raises ConfigurationError that says which file is missing or unusable.
    """
    if not path.is_dir():
        raise ConfigurationError(f"There is no folder {path} to load a model from.")
    root = path.resolve()
    config = _json(root / "config.json")
    family = family_of(root.name, str(config.get("_name_or_path") or ""))
    return SentenceFolder(
        title=root.name,
        model_file=_existing(root, _MODEL_FILES),
        tokenizer_file=_existing(root, _TOKENIZER_FILES),
        prefixes=chosen_prefixes(settings, family),
        pooling=settings.pooling,
        token_pooling=_declared_pooling(root, required=settings.pooling == "auto") or family.pooling,
        max_tokens=min(settings.max_tokens, _positions(config) or settings.max_tokens),
        dimensions=settings.dimensions,
    )


def _existing(root: Path, choices: tuple[str, ...]) -> Path:
    for choice in choices:
        if (root / choice).is_file():
            return root / choice
    raise ConfigurationError(f"The folder {root} has no {' or '.join(choices)}.", details={"folder": str(root)})


def _json(file: Path) -> Mapping[str, object]:
    if not file.is_file():
        return {}
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"The file {file} cannot be read: {error}") from error
    return content if isinstance(content, dict) else {}


def _declared_pooling(root: Path, *, required: bool) -> TokenPooling | None:
    config = _json(root / "1_Pooling" / "config.json")
    modes = [key for key, value in config.items() if key.startswith("pooling_mode_") and value is True]
    known = [_POOLING_KEYS[key] for key in modes if key in _POOLING_KEYS]
    named = str(config.get("pooling_mode") or "")
    if named in _POOLING_NAMES:
        known.append(_POOLING_NAMES[named])
    if known == [] and not modes and not named:
        return None
    if len(known) != 1 or len(modes) > 1:
        if required:
            raise ConfigurationError(
                f"The pooling in {root / '1_Pooling' / 'config.json'} is not supported: "
                "set pooling to mean, cls, last or none."
            )
        return None
    return known[0]


def _positions(config: Mapping[str, object]) -> int | None:
    value = config.get("max_position_embeddings")
    if not isinstance(value, int) or value < 4:
        return None
    return value - 2 if config.get("model_type") in _OFFSET_POSITIONS else value
