"""Problem documents (RFC 9457): every error of the API, in one shape, with a stable ``code``."""

import logging
import re
from collections.abc import Mapping
from typing import Any, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from almanac.faults import field_of, message_of, printable
from tasks.errors import Away, NeedsCredential, Permanent, Rejected, StageError, Transient, Unsafe

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
KINDS = {  # by status: the code where a problem names none, and the title
    400: ("bad_request", "Bad request"),
    401: ("unauthenticated", "No valid token"),
    403: ("forbidden", "Not allowed"),
    404: ("not_found", "Not found"),
    405: ("method_not_allowed", "Method not allowed"),
    409: ("conflict", "Conflict"),
    410: ("removed", "Removed"),
    413: ("too_large", "Too large"),
    415: ("unsupported_media_type", "Unsupported media type"),
    421: ("misdirected", "Not a host of this Almanac"),
    422: ("invalid_request", "Invalid request"),
    500: ("internal", "Internal error"),
    502: ("site_unreadable", "The site could not be read"),
    503: ("not_ready", "Not ready"),
}
UNNAMED = ("error", "Error")
JSON_TYPE = re.compile(r"\s*application/([^/;]+\+)?json\s*(;|$)", re.IGNORECASE)
UNREADABLE = {"type": "json_invalid", "loc": ("body",)}
OF_STAGES: dict[type[StageError], tuple[int, str]] = {  # the site's fault is a 502, the owner's policy a 403
    Unsafe: (403, "address_refused"),
    Away: (503, "service_away"),
    Transient: (502, "site_unavailable"),
    NeedsCredential: (502, "site_needs_credential"),
    Permanent: (502, "site_refused"),
    Rejected: (422, "rejected"),
}


class Problem(HTTPException):
    """An answer that is an error: ``detail`` is one sentence that says what was wrong and what to do."""

    def __init__(
        self, status: int, detail: str, code: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, detail, dict(headers or {}))
        self.code = code or code_of(status)


def code_of(status: int) -> str:
    return KINDS.get(status, UNNAMED)[0]


def not_found(what: str) -> Problem:
    """The same for what does not exist and for what the caller may not see."""
    return Problem(404, f"There is no such {what}.")


def problem_response(
    status: int, detail: str, code: str, headers: Mapping[str, str] | None = None, **more: Any
) -> JSONResponse:
    body = {"type": f"urn:almanac:problem:{code}", "title": KINDS.get(status, UNNAMED)[1], "status": status,
            "detail": detail, "code": code} | more
    return JSONResponse(body, status, headers=headers, media_type=MEDIA_TYPE)


def answer_with_problems(app: FastAPI) -> None:
    """Turn every error of ``app`` into a problem document; none says more than its sentence."""
    app.add_exception_handler(HTTPException, on_http_error)
    app.add_exception_handler(RequestValidationError, on_invalid_request)
    app.add_exception_handler(StageError, on_stage_error)
    app.add_exception_handler(Exception, on_surprise)


def on_http_error(request: Request, error: Exception) -> JSONResponse:
    http = cast(HTTPException, error)
    if http.status_code == 400 and not isinstance(http, Problem):  # FastAPI's, of a body that it cannot read
        return on_invalid_request(request, RequestValidationError([UNREADABLE]))
    code = http.code if isinstance(http, Problem) else code_of(http.status_code)
    detail = http.detail if isinstance(http, Problem) else sentence_for(request, http)
    return problem_response(http.status_code, detail, code, http.headers)


def sentence(words: str) -> str:
    """With a full stop, and a capital unless it begins with a name or an address."""
    first = words.split(" ", 1)[0]
    start = words[:1].upper() if len(first) > 1 and first.isalpha() else words[:1]
    return start + words[1:] + ("" if words.endswith((".", "!", "?")) else ".")


def sentence_for(request: Request, error: HTTPException) -> str:
    match error.status_code:
        case 404:
            return "There is nothing here: the routes are listed at /docs."
        case 405:
            return f"{request.method} is not possible here: the routes are listed at /docs."
        case _:
            return sentence(str(error.detail))


def on_stage_error(request: Request, error: Exception) -> JSONResponse:
    reason = cast(StageError, error).reason
    status, code = next((answer for kind, answer in OF_STAGES.items() if isinstance(error, kind)),
                        (502, code_of(502)))
    return problem_response(status, sentence(reason), code)


def on_surprise(request: Request, error: Exception) -> JSONResponse:
    if type(error).__name__ == "OperationalError":  # SQLAlchemy's, which stays below tasks
        return problem_response(503, "The database does not answer: try again in a moment.", code_of(503),
                                {"Retry-After": "5"})
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return problem_response(500, "Almanac failed here: its log says why (`almanac status` names the file).",
                            "internal")


def on_invalid_request(request: Request, error: Exception) -> JSONResponse:
    """422 with one sentence over all fields; an id that is no id is simply not there.

    A body that does not come as JSON is not read, and that is a 415.
    """
    faults = cast(RequestValidationError, error).errors()
    if any(fault["loc"][0] == "path" for fault in faults):
        return problem_response(404, "There is nothing with this id.", code_of(404))
    sent = request.headers.get("content-type", "")
    if any(map(is_whole_body, faults)) and not JSON_TYPE.match(sent):
        came = f"Content-Type: {printable(sent)}" if sent else "no Content-Type"
        return problem_response(
            415, f"The body came with {came}: send JSON, with Content-Type: application/json.", code_of(415))
    known = known_fields(request)
    fields = [{"field": field_of(fault["loc"]), "message": message_of(fault, known)} for fault in faults]
    detail = "; ".join(f"{field['field']} {field['message']}" for field in fields) + "."
    return problem_response(422, detail, code_of(422), errors=fields)


def is_whole_body(fault: Mapping[str, Any]) -> bool:
    """There is a body, and it is of another kind than what was to come."""
    return tuple(fault["loc"]) == ("body",) and fault["type"] not in {"missing", "json_invalid"}


def known_fields(request: Request) -> str:
    """The names that a body may have here."""
    body = getattr(request.scope.get("route"), "body_field", None)
    model = getattr(getattr(body, "field_info", None), "annotation", None)
    names = getattr(model, "model_fields", {})
    return f": known are {', '.join(names)}" if names else ""
