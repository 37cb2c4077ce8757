"""Observational memory: notes on long conversations, written in the background, faithful to what was said."""
