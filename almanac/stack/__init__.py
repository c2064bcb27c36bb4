"""The stack: starts, watches and stops the parts of one machine."""
