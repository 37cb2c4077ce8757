"""Lamina's speed beside its floors, measured in one run: `python -m benchmarks`."""
