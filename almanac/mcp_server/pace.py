"""How often one caller may call."""

import math
from collections import OrderedDict, deque
from time import monotonic

MINUTE = 60.0
MOST_CALLERS = 1_000  # remembered: the one that has not called for longest is forgotten first


class Pace:
    """At most so many calls of each caller in any minute. For one event loop."""

    def __init__(self, calls: int) -> None:
        self._calls = calls
        self._seen: OrderedDict[str, deque[float]] = OrderedDict()

    def wait(self, caller: str) -> int:
        """Seconds until the caller may call; 0 when it may now, which counts as a call."""
        now = monotonic()
        seen = self._seen.setdefault(caller, deque())
        self._seen.move_to_end(caller)
        if len(self._seen) > MOST_CALLERS:
            self._seen.popitem(last=False)
        while seen and seen[0] <= now - MINUTE:
            seen.popleft()
        if len(seen) >= self._calls:
            return math.ceil(seen[0] + MINUTE - now)
        seen.append(now)
        return 0
