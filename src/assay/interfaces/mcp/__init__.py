"""Answer questions for AI assistants over the Model Context Protocol (MCP)."""
