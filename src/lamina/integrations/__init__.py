"""Lamina inside agent frameworks: one adapter each, each behind an extra, none loaded before it is asked for."""
