"""Apps with everything a prompt can be made of."""

from typing import Any

from lamina.app import App, open
from lamina.kernel.clock import Clock


def context_app(url: str, *, clock: Clock | None = None, **context: Any) -> App:
    """An app on a store with knowledge switched on; `context` are settings of that section.

    Layers have as long as they need: on a busy machine a test would else be about the machine.
    """
    quiet = {"sweep_interval_s": 0.0}
    patient = {"deadline_s": 0.0, "turn_deadline_s": 0.0, **context}
    return open(url, clock=clock, knowledge={"enabled": True}, memory=quiet, context=patient)
