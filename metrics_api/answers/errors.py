"""The errors that are answered, as one tree.

StatusError            an answer that is an error: has the HTTP code and Kubernetes' reason for it
├── BadRequestError    400: an invalid selector
├── UnauthorizedError  401: not from the API server's front proxy, or without a user
├── ForbiddenError     403: the user has not the right
├── NotFoundError      404: no such metric, object, namespace, path, or nothing that a selector matches
├── MethodError        405: these APIs are only read
├── DefectError        500: a defect of this server
└── UnavailableError   503: the lead broker, or the API server, does not answer
"""

from __future__ import annotations

from typing import ClassVar


class StatusError(Exception):
    """An answer that is an error. The message is for users, and contains no secrets."""

    code: ClassVar[int]
    reason: ClassVar[str]


class BadRequestError(StatusError):
    """The request cannot be understood."""

    code = 400
    reason = "BadRequest"


class UnauthorizedError(StatusError):
    """The request does not come from the front proxy, or names no user."""

    code = 401
    reason = "Unauthorized"


class ForbiddenError(StatusError):
    """The user has not the right."""

    code = 403
    reason = "Forbidden"


class NotFoundError(StatusError):
    """There is no such metric, object, namespace or path."""

    code = 404
    reason = "NotFound"


class MethodError(StatusError):
    """These APIs are only read."""

    code = 405
    reason = "MethodNotAllowed"


class DefectError(StatusError):
    """A defect of this server."""

    code = 500
    reason = "InternalError"


class UnavailableError(StatusError):
    """The value is not known now, but may be later."""

    code = 503
    reason = "ServiceUnavailable"
