"""The MCP server: what an assistant may ask of the library, and hand in."""
