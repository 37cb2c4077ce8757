"""Writes the calibration of a finished model beside it, so that a new store need not fit it: `calibrate.py FOLDER`."""

import asyncio
import sys
from pathlib import Path

from lamina.embedding.adoption import fit
from lamina.embedding.static import StaticEmbedder


def main(folder: Path) -> None:
    """Fit what the model's similarities mean, and write it as `calibration.json`."""
    calibration = asyncio.run(fit(StaticEmbedder(folder)))
    (folder / "calibration.json").write_text(calibration.to_json() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
