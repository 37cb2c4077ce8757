"""Numbers for people."""


def count_text(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun: `1 memory`, `2 memories`."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def bytes_text(size: int) -> str:
    """A number of bytes with a unit: `12 bytes`, `3.4 MB`."""
    if size < 1000:
        return f"{size} bytes"
    value = float(size)
    for unit in ("kB", "MB", "GB"):
        value /= 1000
        if value < 1000:
            return f"{value:.1f} {unit}"
    return f"{value / 1000:.1f} TB"
