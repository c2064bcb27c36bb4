"""The HTTP API: what the outside may ask of the library, under ``/v1``."""
