"""A server that is told to stop before all that it starts has begun: nothing is lost, so nothing is wrong.

Prefect's services begin behind its start, and one of them asserts at the stop that it had.
"""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

NOT_BEGUN = "AssertionError: Reactive triggers not started"


class EarlyEnd:
    """Lets such an end be one like another; any other failure is told as it is."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        early = False

        async def tell(message: Message) -> None:
            nonlocal early
            if message["type"] == "lifespan.shutdown.failed" and NOT_BEGUN in message.get("message", ""):
                early, message = True, {"type": "lifespan.shutdown.complete"}
            await send(message)

        try:
            await self.app(scope, receive, tell)
        except AssertionError:
            if not early:
                raise
