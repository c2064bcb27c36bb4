"""Files that are gzipped in themselves, whatever their headers say: recognised by their first bytes."""

import zlib
from collections.abc import Callable

from tasks.errors import Permanent

GZIP = b"\x1f\x8b"
LAYERS = 2  # some servers pack what is packed already


def unpack(body: bytes, what: str, most: Callable[[int], int]) -> bytes:
    """The bytes without the gzip around them; what is cut off gives what came.

    ``most`` says how many bytes so many packed ones may become. Raises Permanent, which names ``what`` it is.
    """
    for _ in range(LAYERS):
        if not body.startswith(GZIP):
            break
        limit = most(len(body))
        inflater = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        try:
            body = inflater.decompress(body, limit)
        except zlib.error as error:
            raise Permanent(f"not a {what}: its gzip data is broken") from error
        if inflater.unconsumed_tail:
            raise Permanent(f"the {what} is larger than {limit / 1e6:.0f} MB once unpacked")
    return body
