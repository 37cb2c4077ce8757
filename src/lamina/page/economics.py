"""What a session's notes save and cost."""

from lamina.observation.economics import MemoryStatus
from lamina.observation.types import Spent
from lamina.page.pieces import figure, tag
from lamina.session.types import Session


def draw_economics(session: Session, status: MemoryStatus) -> None:
    """Draw the figures: said, noted, saved, and what writing the notes took."""
    saved = status.observed_tokens - status.memory_tokens
    with tag("div", classes="figures"):
        figure("Said", f"{status.raw_tokens:,}", note=f"tokens in {session.last_sequence:,} messages")
        figure("Notes", f"{status.memory_tokens:,}", note=f"tokens for {status.observed_tokens:,} said")
        if status.memory_tokens:
            share = saved / status.observed_tokens if status.observed_tokens else 0.0
            times = f"one token for {status.compression or 0:.1f}"
            figure("Saved in each prompt", _percent(share), note=f"{saved:,} tokens, {times}", tone="good")
        figure("Not noted yet", f"{status.pending_tokens:,}", note="tokens, sent as they were said")
        if status.turns:
            cached = status.unchanged_tokens / status.sent_tokens if status.sent_tokens else 0.0
            figure("Prompts with notes", f"{status.turns:,}", note=f"{cached:.0%} of the notes stood there before")
        _draw_cost(status)
        if status.aside_tokens:
            figure("Set aside", f"{status.aside_tokens:,}", note="tokens that no prompt has room for", tone="warn")
        if status.last_error is not None:
            figure("Last attempt failed", status.last_error, note="It is tried again.", tone="bad")


def _percent(share: float) -> str:
    """A share of which nobody believes that it is everything, where it is only nearly so."""
    return f"{share:.0%}" if share < 0.99 else f"{min(share, 0.999):.1%}"


def _draw_cost(status: MemoryStatus) -> None:
    spent: Spent = status.observer + status.reflector
    if spent.calls:
        tokens = f"{spent.input_tokens:,} tokens read, {spent.output_tokens:,} written"
        figure("Calls to a model", f"{spent.calls:,}", note=tokens)
    elif status.memory_tokens:
        figure("Calls to a model", "0", note="The notes were written without one.")
