"""Asking endpoints that speak OpenAI's protocol: what embedders and chat models share."""
