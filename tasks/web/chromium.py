"""Chromium: where it is, and how it is started so that nothing of it goes around the guard proxy."""

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from urllib.parse import urlsplit

import psutil

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

# What would look up names or open sockets beside the proxy, what a page without a person in front of it has
# no use for, and what keeps its scripts small.
SWITCHES = (
    "--disable-quic",
    "--dns-prefetch-disable",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",  # its name until about Chromium 150
    "--no-pings",
    "--deny-permission-prompts",
    "--disable-notifications",
    "--disable-file-system",
    "--disable-3d-apis",
    "--disable-remote-fonts",
    "--blink-settings=imagesEnabled=false",
    "--js-flags=--max-old-space-size=512",
    "--renderer-process-limit=4",
)
# A switch that a Chromium does not know does nothing, and says nothing: what opens sockets of its own is also
# taken from every page and frame before its scripts run.
SIDE_DOORS = """
for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "WebTransport"]) delete globalThis[name];
"""
NOT_WANTED = ("--disable-popup-blocking",)  # of Playwright's own switches
# None of our secrets, and no home to leave anything in.
ENVIRONMENT: Mapping[str, str] = {"PATH": os.defpath, "HOME": os.devnull, "LANG": "C.UTF-8"}


def found() -> str | None:
    """The path of this machine's Chromium or Chrome."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def wanted(setting: str) -> str | None:
    """Where the browser of ``off``, ``auto`` or ``ws://…`` is: a path, an address, or none."""
    return {"off": None, "auto": found()}.get(setting, setting)


def may_be_sandboxed() -> bool:
    """Chromium's own sandbox does not work for root."""
    return os.geteuid() != 0


def switches(proxy: str, mark: str) -> Sequence[str]:
    """Those for one visit. Names are looked up by the proxy alone, and loopback is no exception to it.

    ``mark`` is the name that the browser goes by where no other is set: its process and its pages show it.
    """
    host = urlsplit(proxy).hostname
    return (
        *SWITCHES,
        f"--proxy-server={proxy}",
        "--proxy-bypass-list=<-loopback>",
        f"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE {host}",
        f"--user-agent={mark}",
    )


def called(version: str, product: str) -> str:
    """The User-Agent of a visit: what pages look for in a Chromium, then who we say we are."""
    major = version.partition(".")[0]
    return (f"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
            f"Chrome/{major}.0.0.0 Safari/537.36 {product}")


def processes(mark: str) -> list[psutil.Process]:
    """Those of the browser that was started with this mark, by us or by what we started."""
    switch = f"--user-agent={mark}"
    found: dict[int, psutil.Process] = {}
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if process.pid not in found and switch in process.cmdline():
                found |= {each.pid: each for each in (process, *process.children(recursive=True))}
    return list(found.values())


def memory(mark: str) -> int:
    """Bytes that the browser's processes have for themselves; where that is unknown, all that they hold."""
    used = 0
    for process in processes(mark):
        with suppress(psutil.Error):
            info = process.memory_info()
            used += info.rss - getattr(info, "shared", 0)
    return used


def kill(mark: str) -> None:
    for process in processes(mark):
        with suppress(psutil.Error):
            process.kill()
