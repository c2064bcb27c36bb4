"""Our own HTTP API as methods, for the command line and the dashboard; speaks to this machine only."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx

from almanac.settings import settings

Json = dict[str, Any]

ANSWER_SECONDS = 120.0  # adding a source waits for a slow site, a first question for the model
REBUILD_SECONDS = 3600.0
PAGE = 500
NOT_RUNNING = "Almanac is not running here: start it with `almanac up`"


class ClientError(Exception):
    """The API did not do what it was asked; ``detail`` is one sentence."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class NotRunning(ClientError):
    """Nothing answers at the API's address, or there is no token to speak to it with."""

    def __init__(self, detail: str = NOT_RUNNING) -> None:
        super().__init__(detail)


class ApiProblem(ClientError):
    """The API said no (RFC 9457): ``code`` is stable, ``status`` is HTTP's."""

    def __init__(self, title: str, detail: str, code: str, status: int) -> None:
        super().__init__(detail)
        self.title, self.code, self.status = title, code, status


class Client:
    """The API at ``url``, spoken to with ``token``. Thread-safe; each method raises ClientErrors."""

    def __init__(self, url: str, token: str) -> None:
        self.url = url
        bearer = {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(base_url=url, headers=bearer, trust_env=False)

    def close(self) -> None:
        self._http.close()

    # Asking

    def retrieve(
        self, query: str, *, previous: str | None = None, k: int = 6, budget_tokens: int | None = None,
        min_similarity: float | None = None, explain: bool = False,
    ) -> Json:
        return self._call("POST", "/v1/retrieve", body={
            "query": query, "previous": previous, "k": k, "budget_tokens": budget_tokens,
            "min_similarity": min_similarity, "explain": explain,
        })

    def citation(self, retrieval_id: str, label: str) -> Json:
        return self._call("GET", "/v1/citations", retrieval_id, label)

    # Sources

    def sources(self) -> list[Json]:
        return list(self._call("GET", "/v1/sources")["sources"])

    def source(self, source_id: str) -> Json:
        return self._call("GET", "/v1/sources", source_id)

    def add_source(self, url: str, **choices: Any) -> Json:
        """The source, with its ``flow_run_id``; ``choices`` as on the command line, None for the default."""
        return self._call("POST", "/v1/sources", body={"url": url} | _said(choices))

    def poll_source(self, source_id: str) -> Json:
        return self._call("POST", "/v1/sources", source_id, "poll")

    def poll_due_sources(self) -> Json:
        return self._call("POST", "/v1/sources/poll")

    def pause_source(self, source_id: str) -> Json:
        return self._call("POST", "/v1/sources", source_id, "pause")

    def resume_source(self, source_id: str) -> Json:
        return self._call("POST", "/v1/sources", source_id, "resume")

    def remove_source(self, source_id: str) -> Json:
        """How many ``documents`` and ``chunks`` answer no more."""
        return self._call("DELETE", "/v1/sources", source_id)

    # Documents

    def documents(
        self, *, state: str | None = None, source: str | None = None, q: str | None = None,
        limit: int = 100, after: str | None = None,
    ) -> Json:
        """One page: ``{"documents": […], "next": cursor or None}``."""
        return self._call("GET", "/v1/documents", query={
            "state": state, "source": source, "q": q, "limit": limit, "after": after,
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

    def document(self, document_id: str) -> Json:
        return self._call("GET", "/v1/documents", document_id)

    def versions(self, document_id: str) -> list[Json]:
        return list(self._call("GET", "/v1/documents", document_id, "versions")["versions"])

    def read(self, url: str) -> Json:
        return self._call("POST", "/v1/documents", body={"url": url})

    def retry_document(self, document_id: str) -> Json:
        return self._call("POST", "/v1/documents", document_id, "retry")

    def remove_document(self, document_id: str) -> Json:
        return self._call("DELETE", "/v1/documents", document_id)

    # Tokens

    def tokens(self) -> list[Json]:
        return list(self._call("GET", "/v1/tokens")["tokens"])

    def add_token(self, name: str, scopes: list[str] | None = None) -> Json:
        """The answer's ``token`` is told this once only."""
        return self._call("POST", "/v1/tokens", body={"name": name} | _said({"scopes": scopes}))

    def revoke_token(self, token_id: str) -> None:
        self._call("DELETE", "/v1/tokens", token_id)

    # The whole

    def health(self) -> Json:
        return self._call("GET", "/health")

    def system(self) -> Json:
        return self._call("GET", "/v1/system")

    def run(self, run_id: str) -> Json:
        """The state of a piece of work that another call started."""
        return self._call("GET", "/v1/runs", run_id)

    def verify_index(self) -> Json:
        return self._call("POST", "/v1/index/verify")

    def rebuild_index(self) -> Json:
        return self._call("POST", "/v1/index/rebuild", seconds=REBUILD_SECONDS)

    def _call(
        self, method: str, path: str, *segments: str, query: Json | None = None, body: Json | None = None,
        seconds: float = ANSWER_SECONDS,
    ) -> Json:
        address = "/".join([path, *(quote(segment, safe="") for segment in segments)])
        try:
            response = self._http.request(
                method, address, params=_said(query or {}), json=body,
                timeout=httpx.Timeout(seconds, connect=5))
        except httpx.ConnectError as error:
            raise NotRunning from error
        except httpx.TimeoutException as error:
            raise ApiProblem("No answer", f"Almanac did not answer within {seconds:.0f} seconds: see "
                             "`almanac status`", "no_answer", 504) from error
        except httpx.TransportError as error:
            raise NotRunning("Almanac stopped before it answered: see `almanac status`") from error
        return _json_of(response)


def connect() -> Client:
    """The API of this data folder. NotRunning when the folder holds no token that we can read."""
    try:
        token = (settings().home / "token").read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise NotRunning from error
    if not (token and token.isascii() and token.isprintable()):
        raise NotRunning
    return Client(settings().api_url, token)


def _said(choices: Json) -> Json:
    return {name: value for name, value in choices.items() if value is not None}


def _json_of(response: httpx.Response) -> Json:
    """The answer's JSON object; a problem document is raised."""
    if response.status_code == 204:
        return {}
    try:
        answer: Json = response.json()
        if response.is_success:
            return answer
        problem = ApiProblem(answer["title"], answer["detail"], answer["code"], answer["status"])
    except (ValueError, KeyError, TypeError) as error:
        raise ApiProblem("Not Almanac", f"something other than Almanac answers at {response.url.host}:"
                         f"{response.url.port}: set ALMANAC_API_PORT to a free port", "not_almanac",
                         response.status_code) from error
    raise problem
