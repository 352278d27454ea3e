"""What is answered where there is no value, as one tree.

StatusError            an answer that is an error: carries the HTTP code and Kubernetes' reason for it
├── BadRequestError    400: a selector that is none
├── UnauthorizedError  401: not from the API server's front proxy, or from nobody
├── ForbiddenError     403: the caller has not the right
├── NotFoundError      404: no such metric, object, namespace, path, or nothing that a selector matches
├── MethodError        405: these APIs are only read
├── DefectError        500: a defect of who answers
└── UnavailableError   503: the lead broker, or the API server, does not answer
"""

from __future__ import annotations

from typing import ClassVar


class StatusError(Exception):
    """An answer that is an error; the message is for people, and says nothing secret."""

    code: ClassVar[int]
    reason: ClassVar[str]


class BadRequestError(StatusError):
    """The request cannot be understood."""

    code = 400
    reason = "BadRequest"


class UnauthorizedError(StatusError):
    """Nobody vouches for who asks."""

    code = 401
    reason = "Unauthorized"


class ForbiddenError(StatusError):
    """Who asks has not the right."""

    code = 403
    reason = "Forbidden"


class NotFoundError(StatusError):
    """There is no such thing."""

    code = 404
    reason = "NotFound"


class MethodError(StatusError):
    """These APIs are only read."""

    code = 405
    reason = "MethodNotAllowed"


class DefectError(StatusError):
    """A defect of who answers."""

    code = 500
    reason = "InternalError"


class UnavailableError(StatusError):
    """The value is not known now; it may be later."""

    code = 503
    reason = "ServiceUnavailable"
