"""A page that tries every way a browser has to reach a service it may not, and the services that count."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial

from vacancy import free_port

FORBIDDEN = "127.0.0.2"
HINTED = "hinted.example"  # named in a hint and nowhere else
ANSWER = (b"HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\nContent-Type: text/html\r\n"
          b"Content-Length: 0\r\nConnection: close\r\n\r\n")

# Markup by way; {at} is the forbidden host and port, {by} our own /away?to=, which redirects.
MARKUP = {
    "image": '<img src="http://{at}/">',
    "image set": '<img srcset="http://{at}/ 2x, http://{at}/ 1x">',
    "picture": '<picture><source srcset="http://{at}/"><img></picture>',
    "script": '<script async src="http://{at}/"></script>',
    "module": '<script type="module" src="http://{at}/"></script>',
    "style sheet": '<link rel="stylesheet" href="http://{at}/">',
    "style import": '<style>@import url("http://{at}/");</style>',
    "style image": '<div style="background: url(http://{at}/)">x</div>',
    "frame": '<iframe src="http://{at}/"></iframe>',
    "frame in data": "<iframe src=\"data:text/html,<script src='http://{at}/'></script>\"></iframe>",
    "frame in markup": "<iframe srcdoc=\"<link rel='stylesheet' href='http://{at}/'>\"></iframe>",
    "frame that refreshes": "<iframe srcdoc=\"<meta http-equiv='refresh' content='0;url=http://{at}/'>\"></iframe>",
    "object": '<object data="http://{at}/"></object>',
    "embed": '<embed src="http://{at}/">',
    "video": '<video src="http://{at}/" preload="auto"></video>',
    "audio": '<audio src="http://{at}/" preload="auto"></audio>',
    "poster": '<video poster="http://{at}/"></video>',
    "icon": '<link rel="icon" href="http://{at}/">',
    "prefetch": '<link rel="prefetch" href="http://{at}/">',
    "preload": '<link rel="preload" as="fetch" crossorigin href="http://{at}/">',
    "module preload": '<link rel="modulepreload" href="http://{at}/">',
    "speculation": "<script type='speculationrules'>{{\"prefetch\": [{{\"urls\": [\"http://{at}/\"]}}]}}</script>",
    "name prefetch": f'<link rel="dns-prefetch" href="http://{HINTED}/">',
    "preconnect": '<link rel="preconnect" href="http://{at}/">',
    "drawing": '<svg><image href="http://{at}/" width="9" height="9"/></svg>',
    "form": '<iframe name="a"></iframe><form id="f" target="a" method="post" action="http://{at}/"></form>'
            '<script>f.submit()</script>',
    "redirected image": '<img src="{by}">',
    "redirected frame": '<iframe src="{by}"></iframe>',
    "redirected script": '<script async src="{by}"></script>',
}
SCRIPT = {
    "fetch": "fetch('http://{at}/', {{mode: 'no-cors'}})",
    "fetch that posts": "fetch('http://{at}/', {{method: 'POST', mode: 'no-cors', body: 'x'}})",
    "fetch that outlives": "fetch('http://{at}/', {{mode: 'no-cors', keepalive: true}})",
    "fetch with preflight": "fetch('http://{at}/', {{method: 'PUT', headers: {{'x-a': '1'}}}})",
    "redirected fetch": "fetch('{by}', {{mode: 'no-cors'}})",
    "request": "r = new XMLHttpRequest; r.open('GET', 'http://{at}/'); r.send()",
    "beacon": "navigator.sendBeacon('http://{at}/', 'x')",
    "events": "new EventSource('http://{at}/')",
    "socket": "new WebSocket('ws://{at}/')",
    "secure fetch": "fetch('https://{at}/', {{mode: 'no-cors'}})",
    "secure socket": "new WebSocket('wss://{at}/')",
    "import": "import('http://{at}/')",
    "style rule": "document.head.append(Object.assign(document.createElement('style'), "
                  "{{textContent: 'body {{ background: url(http://{at}/) }}'}}))",
    "worker": "new Worker(URL.createObjectURL(new Blob([`fetch('http://{at}/', {{mode: 'no-cors'}})`])))",
    "worker's socket": "new Worker(URL.createObjectURL(new Blob([`new WebSocket('ws://{at}/')`])))",
    "worker's import": "new Worker(URL.createObjectURL(new Blob([`importScripts('http://{at}/')`])))",
    "shared worker": "new SharedWorker(URL.createObjectURL(new Blob([`fetch('http://{at}/', "
                     "{{mode: 'no-cors'}})`])))",
    "frame in blob": "document.body.append(Object.assign(document.createElement('iframe'), {{src: "
                     "URL.createObjectURL(new Blob([`<script src='http://{at}/'></`+`script>`], "
                     "{{type: 'text/html'}}))}}))",
    "in decimal": "fetch('http://2130706434:{port}/', {{mode: 'no-cors'}})",
    "short": "fetch('http://127.2:{port}/', {{mode: 'no-cors'}})",
    "by name": "fetch('http://inside.example:{port}/', {{mode: 'no-cors'}})",
    "mapped": "fetch('http://[::ffff:127.0.0.2]:{port}/', {{mode: 'no-cors'}})",
}
# What does not go through a proxy, which is why it must not go at all.
AROUND = {
    "STUN": "p = new RTCPeerConnection({{iceServers: [{{urls: 'stun:{at}'}}]}}); p.createDataChannel('x'); "
            "p.createOffer().then(o => p.setLocalDescription(o)); window.stun = p",
    "TURN": "q = new RTCPeerConnection({{iceServers: [{{urls: 'turn:{at}?transport=tcp', username: 'a', "
            "credential: 'b'}}]}}); q.createDataChannel('x'); q.createOffer().then(o => "
            "q.setLocalDescription(o)); window.turn = q",
    "QUIC": "new WebTransport('https://{at}/')",
}
# Taken by a browser with a profile that lasts, not in a visit of ours even where all is open: see hints().
HINTS = {"icon", "preconnect", "name prefetch", "speculation"}
UNKNOWN_BARE = {"by name"}  # a name of ours, which only the proxy's resolver knows
WAYS = MARKUP | SCRIPT | AROUND
# Ways of the page itself to go elsewhere, each a visit of its own: the answer of our site.
DEPARTURES = {
    "redirect": "HTTP/1.1 302 Found\r\nLocation: http://{at}/\r\n{head}",
    "redirect that keeps the method": "HTTP/1.1 307 X\r\nLocation: //{at}/\r\n{head}",
    "refresh": "HTTP/1.1 200 OK\r\n{head}<meta http-equiv='refresh' content='0;url=http://{at}/'>",
    "refresh by header": "HTTP/1.1 200 OK\r\nRefresh: 0;url=http://{at}/\r\n{head}Text",
    "script": "HTTP/1.1 200 OK\r\n{head}<script>location = 'http://{at}/'</script>",
    "form": "HTTP/1.1 200 OK\r\n{head}<form id='f' method='post' action='http://{at}/'></form>"
            "<script>f.submit()</script>",
}
HEAD = "Content-Type: text/html\r\nConnection: close\r\n\r\n"


def page(ports: dict[str, int], own: str) -> bytes:
    """The hostile page of our site at ``own``."""

    def filled(template: str, way: str) -> str:
        at = f"{FORBIDDEN}:{ports[way]}"
        return template.format(at=at, port=ports[way], by=f"{own}/away/{ports[way]}")

    markup = "".join(filled(each, way) for way, each in MARKUP.items())
    scripts = "".join(f"<script>try {{ {filled(each, way)} }} catch (e) {{}}</script>"
                      for way, each in (SCRIPT | AROUND).items())
    worker = "<script>navigator.serviceWorker.register('/worker.js').catch(e => 0)</script>"
    files = "<iframe src='file:///etc/passwd'></iframe><script>window.open('file:///etc/passwd')</script>"
    popup = f"<script>window.open('{own}/popup')</script>"
    return f"<!doctype html><body><p>Text.</p>{markup}{scripts}{worker}{files}{popup}</body>".encode()


def hints(ports: dict[str, int]) -> bytes:
    """A page that only hints at where it may lead."""
    links = "".join(MARKUP[way].format(at=f"{FORBIDDEN}:{ports[way]}") for way in sorted(HINTS))
    return f"<!doctype html><head>{links}</head><body><p>Text.</p></body>".encode()


class Ground:
    """Our site, and one forbidden service a way, on TCP and UDP of one port, which counts who comes."""

    def __init__(self) -> None:
        self.port = 0
        self.ports: dict[str, int] = {}
        self.reached: set[str] = set()
        self.asked: list[str] = []  # of our site

    @property
    def pair(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str) -> str:
        return f"http://{self.pair}{path}"

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Ground"]:
        async with AsyncExitStack() as stack:
            for way in {**WAYS, **DEPARTURES}:
                port = self.ports[way] = free_port(FORBIDDEN)
                server = await asyncio.start_server(self._counting(way), FORBIDDEN, port)
                stack.callback(server.close)
                transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
                    partial(Datagrams, self, way), local_addr=(FORBIDDEN, port))
                stack.callback(transport.close)
            site = await asyncio.start_server(self._site, "127.0.0.1", 0)
            stack.callback(site.close)
            self.port = site.sockets[0].getsockname()[1]
            yield self

    def _counting(self, way: str) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.reached.add(way)
            with suppress(OSError, asyncio.IncompleteReadError):
                async with asyncio.timeout(2):
                    await reader.readuntil(b"\r\n\r\n")
                writer.write(ANSWER)
            writer.close()

        return serve

    async def _site(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            path = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split(" ")[1]
            self.asked.append(path)
            writer.write(self._answer(path))
        writer.close()

    def _answer(self, path: str) -> bytes:
        _, first, *rest = path.split("/")
        if first == "away":
            return f"HTTP/1.1 302 Found\r\nLocation: http://{FORBIDDEN}:{rest[0]}/\r\n{HEAD}".encode()
        if first == "depart":
            way = list(DEPARTURES)[int(rest[0])]
            return DEPARTURES[way].format(at=f"{FORBIDDEN}:{self.ports[way]}", head=HEAD).encode()
        body = {"page": page(self.ports, self.url("")), "hints": hints(self.ports)}.get(first, b"")
        return f"HTTP/1.1 200 OK\r\n{HEAD}".encode() + body


class Datagrams(asyncio.DatagramProtocol):
    def __init__(self, ground: Ground, way: str) -> None:
        self.ground, self.way = ground, way

    def datagram_received(self, data: bytes, addr: object) -> None:
        self.ground.reached.add(self.way)
