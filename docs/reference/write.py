"""Writes the lists of the reference from the source itself: `python -m docs.reference.write`.

Each page is written by hand down to a mark, and by this program below it.
"""

import inspect
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from opentelemetry.sdk.metrics.export import Histogram, HistogramDataPoint, Metric, NumberDataPoint, Sum

from docs.reference.routes import routes
from lamina import errors
from lamina.api.errors import status_of
from lamina.cli.output import NEXT_STEPS
from lamina.config import LoadedSettings, SettingRow, Settings
from lamina.observability.metrics import Metrics

FOLDER = Path(__file__).parent
MARK = "<!-- What follows is written by docs/reference/write.py. -->\n"


def configuration() -> str:
    """Every setting: its name, its default, what it takes, its variable and its meaning."""
    parts = []
    rows = LoadedSettings(settings=Settings(), origins={}).rows()
    for section, group in groupby(rows, key=lambda row: row.name.partition(".")[0]):
        kind = type(getattr(Settings(), section))
        parts.append(f"## `[{section}]`\n\n{_first_line(kind)}")
        parts += map(_setting, group)
    return "\n\n".join(parts)


def _setting(row: SettingRow) -> str:
    field = row.name.partition(".")[2]
    # A paragraph each: names are long, and a table of five columns would scroll.
    return f"`{field}` = `{_toml(row.value)}` · {row.type} · `{row.variable}`<br>\n{row.help}"


def _toml(value: object) -> str:
    match value:
        case None:
            return "unset"
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"'
        case tuple():
            return "[" + ", ".join(map(_toml, value)) + "]"
    return str(value)


def _first_line(kind: type) -> str:
    return (inspect.getdoc(kind) or "").partition("\n")[0]


def error_codes() -> str:
    """Every error: its code, whether trying again may help, what it means and what to do."""
    lines = ["| code | class | HTTP | try again | meaning |", "|---|---|---|---|---|"]
    for kind, depth in _tree(errors.LaminaError):
        again = "yes" if kind.retryable else "no"
        name = f"{'↳ ' * depth}`{kind.__name__}`"
        lines.append(f"| `{kind.code}` | {name} | {status_of(kind())} | {again} | {_meaning(kind)} |")
    lines += ["", "## What to do", "", "What the command line advises, on its line `next`:", ""]
    lines += [f"- `{code}`: {step}" for code, step in sorted(NEXT_STEPS.items())]
    return "\n".join(lines)


def _tree(kind: type[errors.LaminaError], depth: int = 0) -> Iterator[tuple[type[errors.LaminaError], int]]:
    for child in kind.__subclasses__():
        if child.__module__ == errors.__name__:
            yield child, depth
            yield from _tree(child, depth + 1)


def _meaning(kind: type[errors.LaminaError]) -> str:
    drawn = re.search(rf"\b{kind.__name__} +{kind.code} +(.*)", errors.__doc__ or "")
    assert drawn is not None, f"the tree at the top of errors.py lacks {kind.__name__}"
    said = drawn[1].removeprefix("retryable: ")
    return f"{_first_line(kind)} Its {said}." if said.startswith("details") else f"{said[0].upper()}{said[1:]}."


def metrics() -> str:
    """Every instrument, with the labels it has once it was used."""
    lines = ["| metric | kind | labels | what it says |", "|---|---|---|---|"]
    for metric in sorted(_used_once(), key=lambda each: each.name):
        labels = ", ".join(f"`{name}`" for name in _labels(metric))
        lines.append(f"| `{_prometheus(metric)}` | {_kind(metric)} | {labels} | {metric.description} |")
    return "\n".join(lines)


_NOT_COUNTING = {"collecting", "measure", "monotonic", "shutdown", "observe_storage"}


def _used_once() -> list[Metric]:
    used = Metrics.collecting()
    used.observe_storage(lambda: {"user": 1})
    for name, method in inspect.getmembers(used, inspect.ismethod):
        if not name.startswith("_") and name not in _NOT_COUNTING:
            parameters = inspect.signature(method).parameters.values()
            method(**{each.name: "x" if each.annotation is str else 1 for each in parameters})
    assert used.reader is not None
    data = used.reader.get_metrics_data()
    used.shutdown()
    assert data is not None
    return [
        metric for resource in data.resource_metrics for scope in resource.scope_metrics for metric in scope.metrics
    ]


def _labels(metric: Metric) -> list[str]:
    point = next(iter(metric.data.data_points))
    assert isinstance(point, NumberDataPoint | HistogramDataPoint)
    return list(point.attributes or {})


def _kind(metric: Metric) -> str:
    if isinstance(metric.data, Histogram):
        return "histogram (ms)" if metric.unit == "ms" else "histogram"
    return "counter" if isinstance(metric.data, Sum) else "gauge"


def _prometheus(metric: Metric) -> str:
    name = metric.name.replace(".", "_")
    return name if _kind(metric) != "counter" else name.removesuffix("_total") + "_total"


PAGES = {"configuration.md": configuration, "errors.md": error_codes, "metrics.md": metrics, "routes.md": routes}


def page(name: str) -> str:
    """A page as it should be: what stands in it above the mark, and what the source says below."""
    by_hand, mark, _ = (FOLDER / name).read_text(encoding="utf-8").partition(MARK)
    assert mark, f"{name} has lost its mark"
    return f"{by_hand}{MARK}\n{PAGES[name]()}\n"


def main() -> None:
    """Write all pages."""
    for name in PAGES:
        (FOLDER / name).write_text(page(name), encoding="utf-8")


if __name__ == "__main__":
    main()
