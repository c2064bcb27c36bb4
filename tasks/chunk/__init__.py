"""A version's blocks cut into pieces that an embedder can read whole, each with its place in the text."""

from tasks.chunk.pieces import Piece, cut

__all__ = ["Piece", "cut"]
