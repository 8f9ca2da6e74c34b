"""Every error a client can meet, as one tree, mapped once to RFC 9457 problem+json.

    ProblemError
    ├── Unauthorized           401  unauthorized          a bearer key is missing or wrong
    ├── NotFound               404  not-found             no such resource
    ├── MethodNotAllowed       405  method-not-allowed
    ├── NotAcceptable          406  not-acceptable
    ├── RequestTimeout         408  request-timeout       the body did not arrive in time
    ├── Conflict               409  conflict              the key was used for another request
    ├── TooLarge               413  too-large             a body, array or result past a limit
    ├── UnsupportedMediaType   415  unsupported-media-type
    ├── Refused                422  refused
    │   ├── InvalidBody        422  invalid-body          the bytes are not a readable request
    │   ├── InvalidArgument    422  invalid-argument      a field or value does not fit
    │   ├── RefusedSource      422  refused-source        the function says what it may not
    │   └── LimitExceeded      422  limit-exceeded        the work is past a limit
    ├── TooManyRequests        429  too-many-requests
    ├── HeadersTooLarge        431  headers-too-large
    ├── InternalError          500  internal-error        our fault, never the client's
    ├── WorkerLost             503  worker-lost           the worker died twice on this work
    ├── Unavailable            503  unavailable           draining or starting
    └── DeadlineExceeded       504  deadline-exceeded     a phase passed its wall-clock limit

The docstring of each class is the page served behind its ``type``.
"""

from __future__ import annotations

from typing import Any, ClassVar


class ProblemError(Exception):
    """The request could not be answered."""

    status: ClassVar[int] = 500
    slug: ClassVar[str] = "problem"
    title: ClassVar[str] = "Problem"

    def __init__(
        self,
        detail: str,
        *,
        line: int | None = None,
        column: int | None = None,
        pointer: str | None = None,
        hint: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.line = line
        self.column = column
        self.pointer = pointer
        self.hint = hint
        self.retry_after = retry_after

    def to_problem(self) -> dict[str, Any]:
        """The problem+json body; members that do not apply are left out."""
        body: dict[str, Any] = {
            "type": f"/problems/{self.slug}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
        }
        extra = {
            "line": self.line,
            "column": self.column,
            "pointer": self.pointer,
            "hint": self.hint,
        }
        body.update({name: value for name, value in extra.items() if value is not None})
        return body

    def to_wire(self) -> dict[str, Any]:
        """What crosses a process border; ``from_wire`` reads it back."""
        return {**self.to_problem(), "slug": self.slug, "retry_after": self.retry_after}


def from_wire(message: dict[str, Any]) -> ProblemError:
    """The error that ``to_wire`` wrote."""
    error = BY_SLUG.get(message["slug"], InternalError)
    fields = ("line", "column", "pointer", "hint", "retry_after")
    return error(message["detail"], **{name: message.get(name) for name in fields})


class Unauthorized(ProblemError):
    """The server wants ``Authorization: Bearer KEY`` and the key is missing or unknown."""

    status, slug, title = 401, "unauthorized", "A valid key is needed"


class NotFound(ProblemError):
    """Nothing lives under this address: it was never made, has expired, or was deleted."""

    status, slug, title = 404, "not-found", "Not found"


class MethodNotAllowed(ProblemError):
    """The address exists, but not for this HTTP method; ``Allow`` names those it takes."""

    status, slug, title = 405, "method-not-allowed", "Method not allowed"


class NotAcceptable(ProblemError):
    """None of the media types or layouts asked for can be produced."""

    status, slug, title = 406, "not-acceptable", "Not acceptable"


class RequestTimeout(ProblemError):
    """The body did not arrive whole within the time that the server waits for one."""

    status, slug, title = 408, "request-timeout", "The body came too slowly"


class Conflict(ProblemError):
    """The Idempotency-Key was used before with a different request."""

    status, slug, title = 409, "conflict", "Conflict"


class TooLarge(ProblemError):
    """A body, an array or a result is larger than this server's limit."""

    status, slug, title = 413, "too-large", "Too large"


class UnsupportedMediaType(ProblemError):
    """The Content-Type or Content-Encoding is not one that this address reads."""

    status, slug, title = 415, "unsupported-media-type", "Unsupported media type"


class Refused(ProblemError):
    """The request was understood and refused."""

    status, slug, title = 422, "refused", "Refused"


class InvalidBody(Refused):
    """The bytes sent are not a readable request: broken JSON or msgpack, a bad encoding."""

    slug, title = "invalid-body", "The body cannot be read"


class InvalidArgument(Refused):
    """A field of the body, or a value given to the function, does not fit; ``pointer`` names it."""

    slug, title = "invalid-argument", "A value does not fit"


class RefusedSource(Refused):
    """The function uses something outside the language; ``line`` and ``column`` say where."""

    slug, title = "refused-source", "The function was refused"


class LimitExceeded(Refused):
    """The function, its program or its memory would pass a limit of this server."""

    slug, title = "limit-exceeded", "A limit was passed"


class TooManyRequests(ProblemError):
    """Too much work is waiting already; try again after ``Retry-After`` seconds."""

    status, slug, title = 429, "too-many-requests", "Too many requests"


class HeadersTooLarge(ProblemError):
    """The request's header fields are larger than this server reads."""

    status, slug, title = 431, "headers-too-large", "The headers are too large"


class InternalError(ProblemError):
    """A fault of the server, not of the request. The request id finds it in the log."""

    status, slug, title = 500, "internal-error", "Internal error"


class WorkerLost(ProblemError):
    """The process running this work died, and died again on the one retry it was given."""

    status, slug, title = 503, "worker-lost", "The worker was lost"


class Unavailable(ProblemError):
    """The server is starting, draining or cannot reach a worker; ``Retry-After`` says when."""

    status, slug, title = 503, "unavailable", "Unavailable"


class DeadlineExceeded(ProblemError):
    """A phase (trace, compile or run) passed its wall-clock limit and was ended."""

    status, slug, title = 504, "deadline-exceeded", "The time limit was passed"


def _tree(root: type[ProblemError]) -> list[type[ProblemError]]:
    return [root, *(below for child in root.__subclasses__() for below in _tree(child))]


BY_SLUG: dict[str, type[ProblemError]] = {error.slug: error for error in _tree(ProblemError)}
