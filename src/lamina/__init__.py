"""Lamina, the memory and context layer for LLM agents."""

__version__ = "0.1.0"
