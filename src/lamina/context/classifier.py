"""A second opinion on text that reads like instructions: a small classifier that runs on this machine.

Never the only judge: what it alone finds is marked and never held back. It knows most jailbreaks and fewer than half
of other planted instructions, hardly ever mistakes conversation for either, and takes a third of all shell commands
for one.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Final

import anyio.to_thread

from lamina.errors import ConfigurationError

try:
    from stackone_defender.classifiers.onnx_classifier import OnnxClassifier
except ImportError as missing:
    raise ConfigurationError(
        "The classifier needs the stackone-defender package: pip install 'lamina[defender]'"
    ) from missing

THRESHOLD: Final = 0.8
"""From this score on a text counts as instructions: the package's own mark for a high risk."""
_REMEMBERED: Final = 4096
_MOST_CHARACTERS: Final = 4_000


class InstructionClassifier:
    """Scores texts off the event loop and remembers what it said. The model is loaded on first use."""

    def __init__(self, *, threshold: float = THRESHOLD) -> None:
        self._model: Any = OnnxClassifier()
        self._threshold = threshold
        self._known: OrderedDict[str, bool] = OrderedDict()

    async def judge(self, texts: Sequence[str]) -> list[bool]:
        """Whether each text reads like instructions; raises what the runtime raises."""
        heads = [text[:_MOST_CHARACTERS].encode("utf-8", "replace").decode() for text in texts]
        new = [head for head in dict.fromkeys(heads) if head not in self._known]
        if new:
            scores = await anyio.to_thread.run_sync(self._model.classify_batch, new)
            self._known.update(zip(new, (score >= self._threshold for score in scores), strict=True))
        answers = [self._known[head] for head in heads]
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return answers
