"""Learning from tools: error patterns, fixes, how far they are trusted, and the wrapper that watches a tool."""
