"""AWS's own clients for one account and region, and the tokens by which its clusters know who is asking.

They are imported with the first call: no command needs them that makes none.
"""

from __future__ import annotations

import base64
import configparser
import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from burst.errors import AccessDenied

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONNECT_SECONDS, ANSWER_SECONDS = 10, 30
TOKEN_SECONDS = 60
"""For how long the address in a token is good; a cluster takes it for 15 minutes."""
TOKEN_PREFIX = "k8s-aws-v1."  # noqa: S105 - how the text of every token begins
CLUSTER_HEADER = "x-k8s-aws-id"
"""Is signed with the address, so that a token is good for one cluster alone."""


class AwsClients:
    """Clients by service, each made once for the same credentials; they may be used by several threads."""

    def __init__(
        self, region: str, credentials_file: Path | None = None, profile: str = "", endpoint: str = ""
    ) -> None:
        """`endpoint` is the URL of who answers in place of AWS, for rehearsals."""
        self.region = region
        self._credentials_file = credentials_file
        self._profile = profile
        self._endpoint = endpoint or None
        self._lock = threading.Lock()
        self._session: Any = None
        self._clients: dict[str, Any] = {}
        self._read: float | None = None

    def client(self, service: str) -> Any:
        """Return the client of a service, such as `eks`. Raises AccessDenied without credentials."""
        with self._lock:
            if (written := self._written()) != self._read:
                self._session, self._read = None, written
                self._clients.clear()
            if service not in self._clients:
                self._clients[service] = self._made(service)
            return self._clients[service]

    def token(self, cluster: str) -> str:
        """Return what a cluster's API server takes as a proof of who is asking: it is secret.

        It is an address at STS with which the server asks who has signed it; to make one is no call.
        """
        from botocore.signers import RequestSigner  # noqa: PLC0415

        sts = self.client("sts")
        with self._lock:
            session = self._session
        with refused(f"AWS {self.region}"):
            signer = RequestSigner(
                sts.meta.service_model.service_id,
                self.region,
                "sts",
                "v4",
                session.get_credentials(),
                session.get_component("event_emitter"),
            )
            url = signer.generate_presigned_url(
                {
                    "method": "GET",
                    "url": f"{sts.meta.endpoint_url}/?Action=GetCallerIdentity&Version=2011-06-15",
                    "body": {},
                    "headers": {CLUSTER_HEADER: cluster},
                    "context": {},
                },
                region_name=self.region,
                expires_in=TOKEN_SECONDS,
                operation_name="",
            )
        return TOKEN_PREFIX + base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")

    def _written(self) -> float | None:
        """Return when the credentials file was written: one with new keys is read anew."""
        try:
            return self._credentials_file.stat().st_mtime if self._credentials_file is not None else None
        except OSError:
            return None

    def _made(self, service: str) -> Any:
        import boto3.session  # noqa: PLC0415
        from botocore.config import Config  # noqa: PLC0415

        with refused(f"AWS {self.region}"):
            if self._session is None:
                self._session = self._opened()
            config = Config(
                connect_timeout=CONNECT_SECONDS,
                read_timeout=ANSWER_SECONDS,
                retries={"mode": "standard", "total_max_attempts": 1},  # the service has its own back-off
                parameter_validation=True,
            )
            # A token has the address of the real STS: only the cluster asks there.
            endpoint = None if service == "sts" else self._endpoint
            session = boto3.session.Session(botocore_session=self._session, region_name=self.region)
            return session.client(service, endpoint_url=endpoint, config=config)

    def _opened(self) -> Any:
        """Return a session with the credentials of the settings; of a file nothing is run."""
        import botocore.session  # noqa: PLC0415

        path = self._credentials_file
        if path is None:
            return botocore.session.Session(profile=self._profile or None)
        check(path)
        session = botocore.session.Session(profile=self._profile or "default")
        session.set_config_variable("credentials_file", str(path))
        session.set_config_variable("config_file", os.devnull)
        session.get_component("credential_provider").remove("custom-process")
        return session


def check(path: Path) -> None:
    """Raise AccessDenied where a credentials file cannot be read, or has a program run."""
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(path.read_text())
    except OSError as error:
        raise AccessDenied(f"credentials file {path} cannot be read: {error.strerror}") from error
    except (configparser.Error, UnicodeDecodeError):  # its words would have lines of the file
        raise AccessDenied(f"credentials file {path} is not of the form of ~/.aws/credentials") from None
    if found := [each for each in parser.sections() if parser.has_option(each, "credential_process")]:
        raise AccessDenied(
            f"credentials file {path}, profile {', '.join(found)}: `credential_process` runs a program, which"
            " is refused; `aws_access_key_id` and `aws_secret_access_key` would be right"
        )


@contextmanager
def refused(location: str) -> Iterator[None]:
    """Raise ProviderError for what AWS, or its client, refuses within the block."""
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415

    from burst.providers.eks.aws_errors import of_client, translated  # noqa: PLC0415

    try:
        yield
    except ClientError as error:
        raise translated(error.response, location) from error
    except BotoCoreError as error:
        raise of_client(error, location) from error
