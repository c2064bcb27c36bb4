"""Which adapter stands behind each server of tools: the owner's list, and the browser for assistants."""

import os
import sys
from functools import partial
from importlib.resources import files

from almanac.settings import Settings
from tasks.outside.tools.connection import Connection
from tasks.outside.tools.servers import BROWSER, CuratedServer, read_servers
from tasks.outside.tools.toolbox import Curated
from tasks.outside.tools.transport import over_http, over_stdio
from tasks.web.assistant_browser import AssistantBrowser, program
from tasks.web.door import user_agent
from tasks.web.guarded_tools import GuardedTools
from tasks.web.policy import Policy

BROWSER_SECONDS = 60.0


def curated(chosen: Settings) -> list[Curated]:
    """Every server that is to be connected. Raises ValueError for a list that has become wrong."""
    listed = read_servers(chosen.mcp_servers) if chosen.mcp_servers else []
    servers = [Curated(connection_to(server), server.seconds, server.ask) for server in listed]
    browser = browser_for(chosen)
    return [*servers, browser] if browser else servers


def connection_to(server: CuratedServer) -> Connection:
    opened = (partial(over_http, server.url, server.headers) if server.url
              else partial(over_stdio, server.command, server.env, leash=leash()))
    secrets = [*server.env.values(), *server.headers.values()]
    return Connection(server.name, server.tools, opened, secrets=secrets)


def browser_for(chosen: Settings) -> Curated | None:
    """The browser, public addresses only, whatever else the owner lets the library read."""
    wanted = chosen.assistant_browser
    if wanted == "off" or (wanted == "auto" and program() is None):
        return None
    browser = AssistantBrowser(Policy(), user_agent(chosen.contact))
    opened = (partial(browser.local, partial(over_stdio, leash=leash())) if wanted == "auto"
              else partial(browser.remote, wanted, over_http))
    connection = Connection(BROWSER, chosen.assistant_browser_tools, opened)
    return Curated(connection, BROWSER_SECONDS, ask=False, used=GuardedTools(connection, browser))


def leash() -> list[str]:
    """Has the kernel end a server when this process ends, however it ends."""
    script = str(files("almanac") / "stack" / "leash.py")
    return [sys.executable, "-P", script, "SIGKILL", str(os.getpid()), "--"]
