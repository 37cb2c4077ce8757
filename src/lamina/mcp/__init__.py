"""MCP: the memory as tools, resources and a prompt, for every client that speaks the Model Context Protocol."""
