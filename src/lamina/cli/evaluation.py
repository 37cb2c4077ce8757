"""`lamina eval`: how well things are found, and what notes keep. Heavy rooms are imported when a command runs."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.table import Table

from lamina.cli.command import command
from lamina.cli.invocation import Invocation

if TYPE_CHECKING:
    from lamina.app import App
    from lamina.config import Settings
    from lamina.evaluation.locomo import LocomoReport
    from lamina.evaluation.retention import RetentionReport
    from lamina.evaluation.small import SmallReport
    from lamina.evaluation.tools import ToolsReport

commands = typer.Typer()
_group = typer.Typer(no_args_is_help=True, help="Measure how well memory and tools are found, and what notes keep.")
commands.add_typer(_group, name="eval", rich_help_panel="Look and check")


@command(
    _group,
    "locomo",
    examples=("lamina eval locomo locomo10.json", "lamina eval locomo locomo10.json --embedder onnx:FOLDER --json"),
)
def locomo(
    call: Invocation,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="Conversations in the form of LoCoMo.")],
) -> None:
    """Store conversations turn by turn in a temporary store and ask their questions, everything at its default.

    Recall counts the turns named as evidence among the first 5, 10 and 20 results. Questions that have nothing to
    do with the conversations show how much would be found by mistake.
    """
    from lamina.evaluation.conversations import read_conversations
    from lamina.evaluation.locomo import evaluate

    conversations = read_conversations(file)
    with tempfile.TemporaryDirectory(prefix="lamina-eval-") as folder, call.output.progress("evaluating") as progress:

        async def measure(app: "App") -> "LocomoReport":
            return await evaluate(app, conversations, progress=progress)

        report = replace(call, store=call.store or str(Path(folder) / "eval.db")).run(measure, create=True).to_dict()
    call.output.show(report, _table(report))


@command(
    _group,
    "tools",
    examples=("lamina eval tools tools.json", "lamina eval tools tools.json --json"),
)
def tools(
    call: Invocation,
    file: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="JSON with `tools` and `queries` labelled with them.")
    ],
) -> None:
    """Ask the Tool Registry layer for the tools that serve each query, everything at its default.

    Recall is the share of the right tools among the first one and the first five, beside that of plain BM25 over the
    same names and descriptions.
    """
    from lamina.evaluation.tools import evaluate_tools, read_tools

    given = read_tools(file)
    with call.output.progress("evaluating") as progress:

        async def measure(app: "App") -> "ToolsReport":
            return await evaluate_tools(app, given, progress=progress)

        report = replace(call, store=call.store or ":memory:").run(measure, create=True).to_dict()
    call.output.show(report, _tools_table(report))


def _tools_table(report: dict[str, Any]) -> Table:
    table = Table(box=box.ROUNDED, border_style="dim", header_style="bold")
    for heading in ("", "recall@1", "recall@5"):
        table.add_column(heading, justify="right" if heading else "left")
    table.add_row("tool layer", f"{report['recall_at_1']:.3f}", f"{report['recall_at_5']:.3f}", style="bold")
    table.add_row("plain BM25", f"{report['bm25_recall_at_1']:.3f}", f"{report['bm25_recall_at_5']:.3f}")
    table.caption = "\n".join(f"{name} {report[name]}" for name in ("tools", "queries", "search_ms_p50", "embedder"))
    table.caption_justify = "left"
    return table


@command(_group, "small", examples=("lamina eval small", "lamina eval small --embedder onnx:FOLDER --json"))
def small(call: Invocation) -> None:
    """Ask the shipped questions about the shipped stores of one to a few dozen memories, everything at its default.

    Ranking was tuned on the part `dev`; `held_out` shows what is left of that on stores it was not tuned on.
    """
    from lamina.evaluation.small import evaluate_small, small_stores

    with tempfile.TemporaryDirectory(prefix="lamina-eval-") as folder, call.output.progress("evaluating") as progress:

        async def measure(app: "App") -> "SmallReport":
            return await evaluate_small(app, small_stores(), progress=progress)

        report = replace(call, store=call.store or str(Path(folder) / "eval.db")).run(measure, create=True).to_dict()
    call.output.show(report, _small_table(report))


@command(
    _group,
    "retention",
    examples=("lamina eval retention locomo10.json", "lamina eval retention locomo10.json --json"),
)
def retention(
    call: Invocation,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="Conversations in the form of LoCoMo.")],
) -> None:
    """Say whole conversations message by message and measure what their notes keep, everything at its default.

    Notes are written without a model. answer_in_prompt is the share of questions that the memory section of a prompt
    answers: it has the turns that are the evidence, or a note with the answer's words. The baselines fill the same
    budget with the newest and with the first messages. Every archived message is read back: lost must be 0.
    """
    from lamina.evaluation.conversations import read_conversations
    from lamina.evaluation.retention import evaluate_retention

    conversations = read_conversations(file)
    with tempfile.TemporaryDirectory(prefix="lamina-eval-") as folder, call.output.progress("evaluating") as progress:

        async def measure(app: "App") -> "RetentionReport":
            return await evaluate_retention(app, conversations, progress=progress)

        there = replace(call, store=call.store or str(Path(folder) / "eval.db"))
        report = there.run(measure, create=True, change=_observing_without_a_model).to_dict()
    call.output.show(report, _retention_table(report))


def _observing_without_a_model(settings: "Settings") -> "Settings":
    """Observational memory on, with its defaults, whatever the configuration says."""
    from lamina.llm.settings import LlmSettings
    from lamina.observation.settings import ObservationSettings

    changes = {"observational_memory": ObservationSettings(enabled=True), "llm": LlmSettings()}
    return settings.model_copy(update=changes)


def _retention_table(report: dict[str, Any]) -> Table:
    table = Table(box=box.ROUNDED, border_style="dim", header_style="bold")
    names = ("answer_in_prompt", "answer_with_recall", "baseline_recent", "baseline_head", "evidence_recallable")
    table.add_column("", no_wrap=True)
    for heading in ("notes", "+ recall", "recent", "head", "found", "smaller", "lost", "asked"):
        table.add_column(heading, justify="right", no_wrap=True)
    for label, row in (*report["by_conversation"].items(), ("all", report)):
        cells = [f"{row[name]:.3f}" for name in names]
        cells += [f"{row['compression']:.1f}x", str(row["lost"]), str(row["questions"])]
        last = label == list(report["by_conversation"])[-1]
        table.add_row(label, *cells, style="bold" if label == "all" else "", end_section=last)
    meaning = (
        "notes: answer_in_prompt; + recall: with the archived messages that the prompt recalls",
        "recent, head: raw messages in the same budget; found: evidence_recallable",
    )
    caption = ("memory_budget", "raw_tokens", "memory_tokens", "skipped_questions", "embedder")
    table.caption = "\n".join((*meaning, *(f"{name} {report[name]}" for name in caption)))
    table.caption_justify = "left"
    return table


def _small_table(report: dict[str, Any]) -> Table:
    table = Table(box=box.ROUNDED, border_style="dim", header_style="bold")
    table.add_column("")
    parts = {name: part for name, part in report.items() if isinstance(part, dict)}
    for name in parts:
        table.add_column(name, justify="right")
    for figure in next(iter(parts.values())):
        cells = (part[figure] for part in parts.values())
        table.add_row(figure, *(f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in cells))
    table.caption = f"embedder {report['embedder']}"
    table.caption_justify = "left"
    return table


def _table(report: dict[str, Any]) -> Table:
    table = Table(box=box.ROUNDED, border_style="dim", header_style="bold")
    for heading in ("", "recall@5", "recall@10", "recall@20", "mrr", "questions"):
        table.add_column(heading, justify="right" if heading else "left")
    names = ("recall_at_5", "recall_at_10", "recall_at_20", "mrr", "questions")
    for label, row in (*report["by_category"].items(), ("all", report)):
        cells = (f"{row[name]:.3f}" if isinstance(row[name], float) else str(row[name]) for name in names)
        table.add_row(label, *cells, style="bold" if label == "all" else "", end_section=label == "single-hop")
    caption = ("search_ms_p50", "search_ms_p95", "add_per_second", "off_topic_results_mean", "memories", "embedder")
    table.caption = "\n".join(f"{name} {report[name]}" for name in caption)
    table.caption_justify = "left"
    return table
