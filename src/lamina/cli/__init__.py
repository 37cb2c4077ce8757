"""The command line: parse, call the app, show. Not for decisions: those are made below."""

from lamina.cli.program import main

__all__ = ["main"]
