"""The service: one process and one address for the API, MCP, the OpenAI-compatible endpoint and the page."""
