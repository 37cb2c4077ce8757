"""What came of a trial, drawn: where the tokens went, what changed, the prompt itself, and the receipt."""

from collections.abc import Mapping, Sequence
from functools import partial

from lamina.context.assemble import PREAMBLE
from lamina.context.receipt import ReceiptItem
from lamina.context.types import Place
from lamina.page.entry import score
from lamina.page.pieces import Cell, badge, card, figure, nothing, table, tag
from lamina.page.text import code, one_line
from lamina.page.trial import Comparison, Trial, compare, reason

_SHOWN = 8
_TRUST = {"full": "good", "high": "good", "medium": "", "low": "warn"}


def draw_trial(trial: Trial, before: Trial | None) -> None:
    """Draw a trial, and what changed since the one before."""
    with card("Where the tokens go", note=f"{trial.receipt.elapsed_ms:,.1f} ms"):
        _tokens(trial)
    if before is not None:
        with card("Since the last time", classes="compared"):
            _compared(compare(before, trial), {**_texts(before), **_texts(trial)})
    with card("The prompt, as the model gets it"):
        _prompt(trial)
    with card("In the prompt", note=f"{len(trial.receipt.injected):,} items"):
        _injected(trial)
    with card("Found and left out", note=f"{len(trial.receipt.cut):,} items"):
        _cut(trial.receipt.cut)
    if trial.receipt.failures:
        with card("Layers that failed", classes="notice"):
            rows = [(one.layer.value, one.reason, one.error or None) for one in trial.receipt.failures]
            table(("Layer", "Reason", "Error"), rows)


def _tokens(trial: Trial) -> None:
    receipt = trial.receipt
    named = [("Base prompt", receipt.base_tokens), ("Opening words", _opening_tokens(trial))]
    named += [(one.name, one.tokens) for one in receipt.sections]
    shares = [(name, tokens) for name, tokens in named if tokens]
    with tag("div", classes="figures dense"):
        figure("Prompt", f"{receipt.total_tokens:,}", note="tokens")
        figure("Added", f"{receipt.added_tokens:,}", note=_of(receipt.budget_tokens + receipt.memory_budget_tokens))
        figure("Notes", f"{receipt.memory_tokens:,}", note=_of(receipt.memory_budget_tokens))
        if receipt.session_key is not None:
            figure("Unchanged", f"{receipt.unchanged_tokens:,}", note="since the last time")
    told = ", ".join(f"{name} {tokens}" for name, tokens in shares)
    with tag("div", classes="token-bar", role="img", aria_label=f"Tokens by section: {told}"):
        for number, (name, tokens) in enumerate(shares):
            tag("div", classes=f"shade-{_shade(number)}", title=f"{name}: {tokens:,} tokens").style(
                f"flex-grow:{tokens}"
            )
    with tag("div", classes="legend"):
        for number, (name, tokens) in enumerate(shares):
            with tag("span"):
                tag("i", classes=f"shade-{_shade(number)}", aria_hidden="true")
                tag("span", f"{name} {tokens:,}")
    if receipt.keywords:
        with tag("div", classes="row keywords"):
            tag("span", "Searched for", classes="note")
            for word in receipt.keywords:
                badge(one_line(word, 40), tone="accent")


def _shade(number: int) -> int:
    """The base prompt is grey; sections beside each other differ."""
    return 1 + (number - 1) % 5 if number else 0


def _of(budget: int) -> str:
    return f"of {budget:,} allowed" if budget else "without a limit"


def _compared(found: Comparison, texts: Mapping[tuple[Place, str], str]) -> None:
    with tag("p"):
        tag("span", "; ".join(found.asked) or "The same was asked", classes="asked")
        tag("span", f": {found.tokens:+,} tokens." if found.tokens else ": the prompt is as long as before.")
    if found.sections:
        rows = [(name, was, now, f"{now - was:+,}") for name, (was, now) in found.sections.items()]
        table(("Section", "Before", "Now", "Difference"), rows)
    if found.moved:
        moved = [
            (partial(_named, one.item, texts.get((one.item.layer, one.item.key))), one.before, one.after)
            for one in found.moved
        ]
        _folded(("Item", "Before", "Now"), moved)
    elif not found.sections:
        tag("p", "The same items stand in the prompt.", classes="note")


def _prompt(trial: Trial) -> None:
    if trial.asked.base:
        _section("Base prompt", trial.receipt.base_tokens, trial.asked.base)
    if trial.receipt.sections:
        _section("Opening words", _opening_tokens(trial), PREAMBLE)
    for section, text in trial.sections():
        _section(section.name, section.tokens, text.strip("\n"))
    if not trial.receipt.sections:
        nothing(
            "Nothing was added.",
            "Nothing that is stored has to do with the question, or nobody was named whose memories could be searched.",
        )


def _opening_tokens(trial: Trial) -> int:
    return trial.receipt.added_tokens - sum(one.tokens for one in trial.receipt.sections)


def _section(name: str, tokens: int, text: str) -> None:
    with tag("details", classes="prompt-section", open="open"):
        with tag("summary"):
            tag("span", name)
            tag("span", f"{tokens:,} tokens", classes="note")
        code(text).props["tabindex"] = "0"  # long ones scroll, by keyboard too


def _injected(trial: Trial) -> None:
    if not trial.receipt.injected:
        nothing("No item is in the prompt.")
        return
    for line, item in zip(trial.receipt.injected, trial.prompt.items, strict=True):
        with tag("div", classes="placed"):
            with tag("div", classes="row"):
                _named(line)
                tag("span", f"{line.tokens:,} tokens", classes="note")
                badge(f"{line.origin}, {line.trust} trust", tone=_TRUST.get(line.trust, ""))
                for why in line.suspicious:
                    badge(why, tone="bad")
            tag("div", one_line(item.content, 200), classes="stored")
            if line.signals:
                score(line.score, line.signals)


def _cut(cut: Sequence[ReceiptItem]) -> None:
    rows = [(partial(_named, one), one.score, one.tokens or None, reason(one.cut_by or "")) for one in cut]
    _folded(("Item", "Score", "Tokens", "Why"), rows, empty="Nothing that was found was left out.")


def _texts(trial: Trial) -> dict[tuple[Place, str], str]:
    return {(item.layer, item.key): item.content for item in trial.prompt.items}


def _named(item: ReceiptItem, text: str | None = None) -> None:
    """An item by its layer, and by its text where it is known, else its key."""
    with tag("span", classes="named", title=one_line(item.key)):
        badge(item.layer.value.replace("_", " "))
        if text is None:
            tag("span", one_line(item.key, 40), classes="mono")
        else:
            tag("span", one_line(text, 70))


def _folded(columns: Sequence[str], rows: Sequence[Sequence[Cell]], *, empty: str = "") -> None:
    """A table whose end is unfolded when somebody wants to see it."""
    table(columns, rows[:_SHOWN], empty=empty)
    if len(rows) > _SHOWN:
        with tag("details", classes="more"):
            tag("summary", f"{len(rows) - _SHOWN:,} more")
            table(columns, rows[_SHOWN:])
