"""Our own HTTP API as methods, for the command line and the dashboard; speaks to this machine only.

The token is told to nobody who has not proven to hold it.
"""

import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from almanac.proof import proof
from almanac.secret_file import kept_secret
from almanac.settings import is_loopback, settings
from almanac.stack.preflight import lost_token
from almanac.stack.state import StackState, running_state

Json = dict[str, Any]

ANSWER_SECONDS = 120.0  # adding a source waits for a slow site, a first question for the model
WRITING_SECONDS = 900.0  # what a model takes has a limit of its own, which the owner sets
REPLAY_SECONDS = 600.0
TOOL_SECONDS = 620.0  # a tool has a limit of its own, which the owner sets
PROOF_SECONDS = 30.0  # a library that is embedding is slow to answer anything
SURE_SECONDS = 1.0
PAGE = 500
LIBRARY = "library"  # the part of the stack that serves the API


class ClientError(Exception):
    """The API did not do what it was asked; ``detail`` is one sentence."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class NotRunning(ClientError):
    """There is no Almanac to speak to, or no token to speak to it with."""

    code = "not_running"

    def __init__(self, detail: str = "Almanac is not running: start it with `almanac up`") -> None:
        super().__init__(detail)


class Starting(NotRunning):
    """The stack of this data folder runs, but its library does not answer yet, or for the moment."""

    code = "starting"

    def __init__(self) -> None:
        super().__init__("Almanac is starting: try again in some seconds")


class Stopping(NotRunning):
    """The stack of this data folder is being stopped."""

    code = "stopping"

    def __init__(self) -> None:
        super().__init__("Almanac is stopping: start it again with `almanac up`")


class TokenLost(NotRunning):
    """The stack runs, but the token to speak to it with is not in the data folder."""

    code = "token_lost"


class ApiProblem(ClientError):
    """The API said no (RFC 9457): ``code`` is stable, ``status`` is HTTP's."""

    def __init__(self, title: str, detail: str, code: str, status: int) -> None:
        super().__init__(detail)
        self.title, self.code, self.status = title, code, status


class Client:
    """The API at ``url``. Thread-safe; each method raises ClientErrors.

    ``token`` is the data folder's, and proves who answers; ``bearer`` is the caller's, where that is another.
    """

    def __init__(self, url: str, token: str, bearer: str | None = None) -> None:
        self.url = url
        self._token, self._sure_until = token, 0.0
        self._bearer = token if bearer is None else bearer
        self._http = httpx.Client(base_url=url, trust_env=False)

    def close(self) -> None:
        self._http.close()

    # Asking

    def retrieve(self, query: str, **choices: Any) -> Json:
        """Ranked excerpts; ``choices`` as ``POST /v1/retrieve`` takes them, None for the default."""
        return self._call("POST", "/v1/retrieve", body={"query": query} | _said(choices))

    def ask(self, query: str, **choices: Any) -> Json:
        """The same with the configured model's ``answer``, and a ``note`` where something is amiss."""
        return self._call("POST", "/v1/ask", body={"query": query} | _said(choices), seconds=WRITING_SECONDS)

    def filters(self) -> Json:
        """The ``sources``, ``content_types`` and ``languages`` to choose from, and the ``model`` to ask."""
        return self._call("GET", "/v1/filters")

    def citation(self, retrieval_id: str, label: str) -> Json:
        return self._call("GET", "/v1/citations", retrieval_id, label)

    def check_citations(self, retrieval_id: str, text: str) -> Json:
        """The text without what the retrieval did not give, and what was wrong with it."""
        return self._call("POST", "/v1/citations/check", body={"retrieval_id": retrieval_id, "text": text})

    # What the reader thinks

    def judge(self, retrieval_id: str, good: list[str], bad: list[str]) -> Json:
        return self._call("POST", "/v1/judgments",
                          body={"retrieval_id": retrieval_id, "good": good, "bad": bad})

    def replay_judgments(self, **changes: Any) -> Json:
        """nDCG@10 of the judged questions before and after ``changes``, as ``set_ranking`` takes them."""
        return self._call("POST", "/v1/judgments/replay", body=changes, seconds=REPLAY_SECONDS)

    def ranking(self) -> Json:
        """The ``weights`` and ``half_lives`` in days that count, and those of the ``default``."""
        return self._call("GET", "/v1/ranking")

    def set_ranking(self, **changes: Any) -> Json:
        """The same after ``changes``: ``weights`` by part, ``half_lives`` by content type."""
        return self._call("PUT", "/v1/ranking", body=changes)

    def interests(self) -> list[Json]:
        return list(self._call("GET", "/v1/interests")["interests"])

    def set_interest(self, topic: str, strength: float) -> Json:
        return self._call("PUT", "/v1/interests", body={"topic": topic, "strength": strength})

    def forget_interest(self, topic: str) -> None:
        self._call("DELETE", "/v1/interests", topic)

    def clear_interests(self) -> Json:
        """How many were ``forgotten``."""
        return self._call("DELETE", "/v1/interests")

    # What came lately

    def today(self, days: int = 1) -> Json:
        """What arrived, changed and failed in so many days, counted."""
        return self._call("GET", "/v1/today", query={"days": days})

    def stories(self, days: int = 1) -> Json:
        """What arrived, by story."""
        return self._call("GET", "/v1/stories", query={"days": days})

    def trends(self, days: int = 1) -> Json:
        """Topics and names that rise against their own history."""
        return self._call("GET", "/v1/trends", query={"days": days})

    def freshness(self) -> Json:
        """Half-lives by content type, and where the last documents stand."""
        return self._call("GET", "/v1/freshness")

    def life(self, document_id: str) -> Json:
        """What a document's scores were, and how fresh it is and will be."""
        return self._call("GET", "/v1/documents", document_id, "freshness")

    # Sources

    def sources(self) -> list[Json]:
        return list(self._call("GET", "/v1/sources")["sources"])

    def source_names(self) -> list[Json]:
        return list(self._call("GET", "/v1/sources", "names")["sources"])

    def source_page(self, **choices: Any) -> Json:
        """One page, with ``looks`` and ``days``: ``{"sources": […], "next": id or None, "counts"}``.

        ``choices`` are ``q``, ``limit``, ``after`` and the ``zone`` whose days they are.
        """
        return self._call("GET", "/v1/sources", "page", query=choices)

    def source(self, source_id: str, zone: str | None = None) -> Json:
        return self._call("GET", "/v1/sources", source_id, query={"zone": zone})

    def add_source(self, url: str, **choices: Any) -> Json:
        """The source, with its ``flow_run_id``; ``choices`` as on the command line, None for the default."""
        return self._call("POST", "/v1/sources", body={"url": url} | _said(choices))

    def preview_source(self, url: str, **choices: Any) -> Json:
        """What ``add_source`` would find there, and its first items; nothing is saved."""
        return self._call("POST", "/v1/sources/preview", body={"url": url} | _said(choices))

    def sample_source(self, url: str, headers: dict[str, str] | None = None) -> Json:
        """The ``lists`` in what a JSON API answers, with first items and a guessed ``map``."""
        return self._call("POST", "/v1/sources/sample", body={"url": url} | _said({"headers": headers}))

    def edit_source(self, source_id: str, **changes: Any) -> Json:
        """The source as it is then; ``changes`` as on the command line."""
        return self._call("PATCH", "/v1/sources", source_id, body=changes)

    def preview_source_edit(self, source_id: str, **changes: Any) -> Json:
        """What a look at it would find if it were changed so; nothing is saved."""
        return self._call("POST", "/v1/sources", source_id, "preview", body=changes)

    def import_sources(self, opml: bytes) -> Json:
        """What was ``added``, what is ``known`` already, and what was ``refused`` and why."""
        return self._call("POST", "/v1/sources/import", content=opml)

    def export_sources(self) -> str:
        """The sources as OPML."""
        return str(self._call("GET", "/v1/sources/export", read=_text_of)["text"])

    def set_source_headers(self, source_id: str, headers: dict[str, str]) -> Json:
        return self._call("PUT", "/v1/sources", source_id, "headers", body={"headers": headers})

    def poll_source(self, source_id: str) -> Json:
        return self._call("POST", "/v1/sources", source_id, "poll")

    def poll_due_sources(self) -> Json:
        return self._call("POST", "/v1/sources/poll")

    def pause_source(self, source_id: str) -> Json:
        return self._call("POST", "/v1/sources", source_id, "pause")

    def resume_source(self, source_id: str) -> Json:
        return self._call("POST", "/v1/sources", source_id, "resume")

    def remove_source(self, source_id: str) -> Json:
        """How many ``documents`` and ``chunks`` answer no more, and whether it ``comes_back`` at a start."""
        return self._call("DELETE", "/v1/sources", source_id)

    # Documents

    def documents(
        self, *, state: str | None = None, source: str | None = None, q: str | None = None,
        content_type: str | None = None, limit: int = 100, after: str | None = None,
    ) -> Json:
        """One page: ``{"documents": […], "next": cursor or None}``."""
        return self._call("GET", "/v1/documents", query={
            "state": state, "source": source, "q": q, "content_type": content_type, "limit": limit,
            "after": after,
        })

    def every_document(self, **choices: Any) -> Iterator[Json]:
        """All pages of ``documents``, one document at a time."""
        after = None
        while True:
            page = self.documents(**choices, limit=PAGE, after=after)
            yield from page["documents"]
            after = page["next"]
            if after is None:
                return

    def document(self, document_id: str, version: int | None = None) -> Json:
        """With what it says: what answers, else what was read last, unless a ``version`` is named."""
        return self._call("GET", "/v1/documents", document_id, query={"version": version})

    def chunks(
        self, document_id: str, version: int | None = None, limit: int = 50, after: int | None = None
    ) -> Json:
        """One page of a version's ``chunks``, as they were cut."""
        query = {"version": version, "limit": limit, "after": after}
        return self._call("GET", "/v1/documents", document_id, "chunks", query=query)

    def gates(self, document_id: str, version: int | None = None) -> Json:
        """What the gates made of a version: each expectation, met or not."""
        return self._call("GET", "/v1/documents", document_id, "gates", query={"version": version})

    def versions(self, document_id: str) -> list[Json]:
        return list(self._call("GET", "/v1/documents", document_id, "versions")["versions"])

    def read(self, url: str) -> Json:
        return self._call("POST", "/v1/documents", body={"url": url})

    def retry_document(self, document_id: str) -> Json:
        return self._call("POST", "/v1/documents", document_id, "retry")

    def analyse_document(self, document_id: str) -> Json:
        """The document, with the ``flow_run_id`` of the work."""
        return self._call("POST", "/v1/documents", document_id, "retry", query={"analyse": True})

    def remove_document(self, document_id: str) -> Json:
        return self._call("DELETE", "/v1/documents", document_id)

    def diff(self, document_id: str, old: int | None = None, new: int | None = None) -> Json:
        """What changed between two versions, by their numbers: the last two, unless others are named."""
        return self._call("GET", "/v1/documents", document_id, "diff", query={"from": old, "to": new})

    # Quality

    def quality_report(
        self, *, verdict: str | None = None, severity: str | None = None, gate: str | None = None,
        source: str | None = None, limit: int = 100, after: str | None = None,
    ) -> Json:
        """One page of what the gates found; ``sources`` are those that differ from their own history."""
        return self._call("GET", "/v1/quality", query={
            "verdict": verdict, "severity": severity, "gate": gate, "source": source, "limit": limit,
            "after": after,
        })

    def refusals(self, **choices: Any) -> Json:
        """One page of refused versions; ``choices`` are ``verdict``, ``source``, ``limit``, ``after``."""
        return self._call("GET", "/v1/quality/refusals", query=choices)

    def gate_rates(self, days: int, zone: str | None = None) -> Json:
        """How many versions passed and were refused, by day of that ``zone`` and by expectation."""
        return self._call("GET", "/v1/quality/rates", query={"days": days, "zone": zone})

    def release_all(self, document_ids: list[str]) -> Json:
        """Which were ``decided``, and which are ``left`` and why."""
        return self._call("POST", "/v1/quality/release", body={"document_ids": document_ids})

    def reject_all(self, document_ids: list[str]) -> Json:
        return self._call("POST", "/v1/quality/reject", body={"document_ids": document_ids})

    def release(self, document_id: str) -> Json:
        return self._call("POST", "/v1/quality", document_id, "release")

    def reject(self, document_id: str) -> Json:
        return self._call("POST", "/v1/quality", document_id, "reject")

    # Keeping

    def keep(self, **given: Any) -> Json:
        """What became of it, or for an ``upload`` the ``url`` that takes the file; as ``POST /v1/keep``."""
        return self._call("POST", "/v1/keep", body=_said(given))

    def keep_texts(self, texts: list[Json], scopes: list[str] | None = None) -> Json:
        """What became of each, in order, under ``kept``; as ``POST /v1/keep/texts`` takes them."""
        return self._call("POST", "/v1/keep/texts", body={"texts": texts} | _said({"scopes": scopes}))

    def upload(self, url: str, file: Path) -> Json:
        """Hand in the file that ``keep`` has got this ``url`` for."""
        with file.open("rb") as body:
            length = {"Content-Length": str(file.stat().st_size)}
            return self._ask("PUT", urlsplit(url).path, content=body, headers=length)

    # Tokens

    def tokens(self) -> list[Json]:
        return list(self._call("GET", "/v1/tokens")["tokens"])

    def add_token(self, name: str, **choices: Any) -> Json:
        """The answer's ``token`` is told this once only; ``choices`` as ``POST /v1/tokens`` takes them."""
        return self._call("POST", "/v1/tokens", body={"name": name} | _said(choices))

    def revoke_token(self, token_id: str) -> None:
        self._call("DELETE", "/v1/tokens", token_id)

    # Organizations

    def organizations(self) -> list[Json]:
        return list(self._call("GET", "/v1/organizations")["organizations"])

    def add_organization(self, name: str, public: bool) -> Json:
        return self._call("POST", "/v1/organizations", body={"name": name, "public": public})

    def change_organization(self, name: str, public: bool) -> Json:
        return self._call("PATCH", "/v1/organizations", name, body={"public": public})

    def remove_organization(self, name: str) -> None:
        self._call("DELETE", "/v1/organizations", name)

    def admit(self, name: str, who: str, writes: bool) -> Json:
        return self._call("PUT", "/v1/organizations", name, "members", who, body={"writes": writes})

    def dismiss(self, name: str, who: str) -> Json:
        return self._call("DELETE", "/v1/organizations", name, "members", who)

    # Tools of other servers

    def tools(self) -> list[Json]:
        """Each curated server, with its listed tools."""
        return list(self._call("GET", "/v1/tools")["servers"])

    def use_tool(self, name: str, arguments: Json) -> Json:
        """The ``text`` of its answer, marked as data, and whether it ``failed``."""
        return self._call(
            "POST", "/v1/tools", name, "call", body={"arguments": arguments}, seconds=TOOL_SECONDS)

    def accept_tool(self, name: str, fingerprint: str) -> None:
        self._call("POST", "/v1/tools", name, "accept", body={"fingerprint": fingerprint})

    # External AIs

    def credentials(self) -> list[Json]:
        """By their last four characters, in the order in which they are asked."""
        return list(self._call("GET", "/v1/credentials")["credentials"])

    def add_credential(self, provider: str, key: str, **choices: Any) -> Json:
        """The credential without its key; ``choices`` as ``POST /v1/credentials`` takes them."""
        return self._call("POST", "/v1/credentials", body={"provider": provider, "key": key} | _said(choices))

    def change_credential(self, credential_id: str, **changes: Any) -> Json:
        return self._call("PATCH", "/v1/credentials", credential_id, body=_said(changes))

    def remove_credential(self, credential_id: str) -> None:
        self._call("DELETE", "/v1/credentials", credential_id)

    def rotate_master_key(self) -> Json:
        """How many secrets were ``sealed`` anew, and how many are ``left`` as they were."""
        return self._call("POST", "/v1/credentials/rotate")

    def usage(self) -> Json:
        """What is used of each credential, ``days`` of it, and what was ``asked``."""
        return self._call("GET", "/v1/usage")

    # The whole

    def health(self) -> Json:
        """How the parts are; told to anybody, and asked without the token."""
        return self._ask("GET", "/health")

    def system(self) -> Json:
        return self._call("GET", "/v1/system")

    def runs(self, limit: int = 20) -> list[Json]:
        """The runs of the flows that began last, newest first."""
        return list(self._call("GET", "/v1/runs", query={"limit": limit})["runs"])

    def run(self, run_id: str) -> Json:
        """The state of a piece of work that another call started."""
        return self._call("GET", "/v1/runs", run_id)

    def verify_index(self, full: bool = False) -> Json:
        return self._call("POST", "/v1/index/verify", query={"full": True} if full else None)

    def rebuild_index(self) -> Json:
        """The ``flow_run_id`` of the work."""
        return self._call("POST", "/v1/index/rebuild")

    def _call(
        self, method: str, path: str, *segments: str, query: Json | None = None, body: Json | None = None,
        **more: Any,
    ) -> Json:
        self._make_sure()
        address = "/".join([path, *(quote(segment, safe="") for segment in segments)])
        bearer = {"Authorization": f"Bearer {self._bearer}"}
        return self._ask(method, address, headers=bearer, params=_said(query or {}), json=body, **more)

    def _make_sure(self) -> None:
        """Whoever answers holds this data folder's token; else ApiProblem, and it is not sent.

        For a second that is believed: so long the connection is kept over which it was proven.
        """
        if time.monotonic() < self._sure_until:
            return
        challenge = secrets.token_urlsafe(16)
        answer = self._ask("GET", "/health", PROOF_SECONDS, params={"challenge": challenge})
        if answer.get("proof") != proof(self._token, self._http.base_url.port or 80, challenge):
            raise _not_ours(self._http.base_url, 401)
        self._sure_until = time.monotonic() + SURE_SECONDS

    def _ask(
        self, method: str, address: str, seconds: float = ANSWER_SECONDS,
        read: Callable[[httpx.Response], Json] | None = None, **sent: Any,
    ) -> Json:
        try:
            timeout = httpx.Timeout(seconds, connect=5)
            return (read or _json_of)(self._http.request(method, address, timeout=timeout, **sent))
        except httpx.HTTPError as error:
            self._sure_until = 0.0
            raise self._trouble(error, seconds) from error

    def _trouble(self, error: httpx.HTTPError, seconds: float) -> ClientError:
        match error:
            case httpx.ConnectError():
                return _silence(running_state(settings().home))
            case httpx.TimeoutException():
                return ApiProblem("No answer", f"Almanac did not answer within {seconds:.0f} seconds: see "
                                  "`almanac status`", "no_answer", 504)
            case httpx.DecodingError():
                return _not_ours(self._http.base_url, 502)
            case _:
                return NotRunning("Almanac stopped before it answered: see `almanac status`")


def exposed() -> bool:
    """Whether others than this machine's own may reach our servers: by the address that is listened on, or by
    the names that are answered to.
    """
    return not all(map(is_loopback, (settings().host, *settings().hosts)))


def connect(bearer: str | None = None) -> Client:
    """The API of the stack that runs on this data folder. Raises NotRunning, and then nothing was sent."""
    home, port = settings().home, settings().api_port
    state = running_state(home)
    ports = [part.port for part in state.parts if part.name == LIBRARY] if state else []
    if not ports:
        raise _silence(state)
    if port not in ports:
        raise NotRunning(f"the API of this data folder is at port {ports[0]}, not {port}: set "
                         "ALMANAC_API_PORT as it was for `almanac up`")
    if lost := lost_token(home):
        raise TokenLost(lost)
    return Client(settings().api_url, kept_secret(home / "token") or "", bearer)


def _silence(state: StackState | None) -> NotRunning:
    """Why nobody answers."""
    if state is None:
        return NotRunning()
    return Stopping() if state.stopping else Starting()


def _said(choices: Json) -> Json:
    return {name: value for name, value in choices.items() if value is not None}


def _text_of(response: httpx.Response) -> Json:
    return {"text": response.text} if response.is_success else _json_of(response)


def _json_of(response: httpx.Response) -> Json:
    """The answer's JSON object; a problem document is raised."""
    if response.status_code == 204:
        return {}
    try:
        answer = response.json()
        if response.is_success and isinstance(answer, dict):
            return answer
        problem = ApiProblem(answer["title"], answer["detail"], answer["code"], answer["status"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _not_ours(response.url, response.status_code) from error
    raise problem


def _not_ours(url: httpx.URL, status: int) -> ApiProblem:
    detail = (f"who answers at {url.netloc.decode()} does not hold the token of this data folder: start "
              "Almanac anew with `almanac down` and `almanac up`, which says whether the port is taken")
    return ApiProblem("Not this Almanac", detail, "not_this_almanac", status)
