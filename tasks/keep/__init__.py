"""The three doors: a text, an address or a file, each handed in with who may read it."""
