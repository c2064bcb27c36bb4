"""Fixtures for tools of other servers."""

from tool_workshop import workshop

__all__ = ["workshop"]
