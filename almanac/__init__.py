"""How Almanac is put together and entered."""

__version__ = "0.1.0"
