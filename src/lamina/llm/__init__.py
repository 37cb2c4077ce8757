"""The port to chat models, and clients for it."""
