"""What stands before the screens: own host names only, and a token where others may come, too.

Streamlit answers under any host name and asks nobody who they are. A stranger's page, by a name of its own
that is made to resolve to this machine (DNS rebinding), could read the library.
"""

from pathlib import Path
from urllib.parse import parse_qs, quote

from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit.starlette import App

from almanac.client import ClientError, exposed
from almanac.settings import settings
from almanac.stack.own_names import OwnNamesOnly
from dashboards.visitors import COOKIE, admit, dismiss, visitor

HEALTH = "/_stcore/health"  # what our own stack asks, and what anybody may know
SIGN_IN, SIGN_OUT = "/sign-in", "/sign-out"
LONGEST = 10_000  # bytes of the form
SECONDS = 12 * 3600  # that a browser keeps the cookie
FORM = Path(__file__).with_name("sign_in.html")


def guarded() -> ASGIApp:
    """The screens, for the owner's host names only."""
    screens: ASGIApp = App(str(Path(__file__).with_name("app.py")))
    return OwnNamesOnly(SignedIn(screens) if exposed() else screens, settings().names)


class SignedIn:
    """Lets nobody through to ``app`` who has not shown a token of the API."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            await self.app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        if scope["path"] == HEALTH or (visitor(connection.cookies) and scope["path"] != SIGN_OUT):
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await PlainTextResponse("Sign in first", 401)(scope, receive, send)
        else:
            await (await answer(Request(scope, receive)))(scope, receive, send)


async def answer(request: Request) -> Response:
    """To who is not signed in, or no longer wants to be."""
    if request.url.path == SIGN_OUT:
        dismiss(request.cookies)
        back = RedirectResponse("/", 303)
        back.delete_cookie(COOKIE)
        return back
    if request.method == "POST" and request.url.path == SIGN_IN:
        return await signed_in(request)
    if request.method != "GET" or "text/html" not in request.headers.get("accept", ""):
        return PlainTextResponse("Sign in first", 401)
    query = f"?{request.url.query}" if request.url.query else ""
    return form(f"{request.url.path}{query}")


async def signed_in(request: Request) -> Response:
    given, back = await written(request)
    try:
        name = await run_in_threadpool(admit, given)
    except ClientError as error:
        return form(back, error.detail, 503)
    if name is None:
        return form(back, "This token is unknown or revoked.", 401)
    onwards = RedirectResponse(back, 303)
    onwards.set_cookie(COOKIE, name, max_age=SECONDS, httponly=True, samesite="strict",
                       secure=request.url.scheme == "https")
    return onwards


async def written(request: Request) -> tuple[str, str]:
    """The token in the form, and where to go with it."""
    body = b""
    async for piece in request.stream():
        if len(body := body + piece) > LONGEST:
            break
    fields = {name: values[0] for name, values in parse_qs(body[:LONGEST].decode("utf-8", "replace")).items()}
    token = "".join(each for each in fields.get("token", "") if each.isascii() and each.isprintable())
    return token.strip(), own(fields.get("back", "/"))


def own(address: str) -> str:
    """``address`` where it is one of ours, else our first screen's."""
    inside = address.startswith("/") and address[1:2] not in {"/", "\\"}
    return quote(address, safe="/?&=%+") if inside else "/"


def form(back: str, trouble: str = "", status: int = 401) -> HTMLResponse:
    page = Markup(FORM.read_text(encoding="utf-8"))  # noqa: S704 - ours
    return HTMLResponse(page.format(back=own(back), trouble=trouble), status, {"Cache-Control": "no-store"})
