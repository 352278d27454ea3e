"""The server: TLS, who asks, and what does not break while certificates change."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import aiohttp
import pytest

from metrics_api.adapter.authorization import Authorization
from metrics_api.adapter.certificates import AdapterAuthority, Serving
from metrics_api.adapter.errors import AdapterSettingsError
from metrics_api.adapter.evaluation import Evaluation
from metrics_api.adapter.front_proxy import of_config_map
from metrics_api.adapter.measurements import Measurements
from metrics_api.adapter.server import AdapterServer
from metrics_api.answers import queries
from minicluster.kube_client.served_connections import ServedConnections
from minicluster.lead_server.routes import FrontProxy
from tests.devcluster import certificates
from tests.devcluster.certificates import Pair
from tests.metrics_api.adapter.scene import Scene
from tests.metrics_api.adapter.test_front_proxy import config_map

HOST = "adapter.system.svc"
PATH = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/team/services/mc/flux_nodes_demanded"
JANE = {"X-Remote-User": "jane"}


class Reviews:
    """An API server that allows jane everything."""

    async def review(self, item: dict[str, Any]) -> dict[str, Any]:
        return {"status": {"allowed": item["spec"]["user"] == "jane"}}


@dataclass
class Running:
    """A server, and who may connect to it."""

    server: AdapterServer
    authority: AdapterAuthority
    port: int
    folder: Path
    trouble: str = ""
    serving: Serving | None = None

    def proxy(self, name: str = "front-proxy-client") -> tuple[FrontProxy, Pair]:
        """Return a front proxy of a new authority, and its certificate."""
        folder = self.folder / str(len(list(self.folder.iterdir())))
        folder.mkdir()
        signer = certificates.authority(folder, f"proxy-ca-{folder.name}")
        item = config_map(folder, requestheader_client_ca_file=signer.file.read_text())
        return of_config_map(item), signer.issue("proxy", name)

    def trust(self, pair: Pair | None = None) -> ssl.SSLContext:
        """Return how a client connects."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cadata=self.authority.bundle)
        if pair is not None:
            context.load_cert_chain(pair.certificate, pair.key)
        return context

    @contextlib.asynccontextmanager
    async def client(self, pair: Pair | None = None) -> AsyncIterator["Client"]:
        """Have a client that keeps its connections."""
        connector = aiohttp.TCPConnector(ssl=self.trust(pair))
        async with aiohttp.ClientSession(connector=connector) as session:
            yield Client(session, self.port)
        await asyncio.sleep(0.01)


@dataclass
class Client:
    """Somebody who asks."""

    session: aiohttp.ClientSession
    port: int

    async def get(self, path: str = PATH, method: str = "GET", **headers: str) -> tuple[int, dict[str, Any]]:
        """Ask; return the code and the body."""
        url = f"https://127.0.0.1:{self.port}{path}"
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        asked = self.session.request(method, url, headers={**JANE, **named}, server_hostname=HOST)
        async with asked as answer:
            return answer.status, await answer.json()


Work = Callable[[Running], Coroutine[Any, Any, None]]


def with_server(
    folder: Path, work: Work, evaluation: Any = None, connections: ServedConnections | None = None
) -> None:
    """Do something with a server that serves one MiniCluster."""
    scene = Scene().has("mc")

    async def whole() -> None:
        now = datetime.now(UTC)
        authority = AdapterAuthority.make(now)
        serving = authority.issue([HOST], now)

        def context() -> ssl.SSLContext:
            found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            serving.load(found)
            return found

        evaluated = evaluation or Evaluation(scene.objects, scene.leads)
        authorization, measured = Authorization(Reviews()), Measurements()
        server = AdapterServer(
            evaluated, authorization, context, lambda: running.trouble, measured, connections
        )
        running = Running(server, authority, 0, folder)
        async with server.serving(("127.0.0.1", 0)) as (_, running.port):
            await work(running)

    asyncio.run(whole())


def test_the_front_proxys_requests_are_answered(tmp_path: Path) -> None:
    async def work(here: Running) -> None:
        proxy, pair = here.proxy()
        here.server.trust(proxy)
        async with here.client(pair) as client:
            code, body = await client.get()
            assert (code, body["items"][0]["value"]) == (200, "7")
            assert (await client.get(X_Remote_User="jim"))[0] == 403

    with_server(tmp_path, work)


def test_without_its_certificate_nobody_is_believed(tmp_path: Path) -> None:
    async def work(here: Running) -> None:
        proxy, _ = here.proxy()
        here.server.trust(proxy)
        async with here.client() as client:
            code, body = await client.get(X_Remote_Group="system:masters")
        assert (code, body["reason"], body["kind"]) == (401, "Unauthorized", "Status")

    with_server(tmp_path, work)


def test_another_name_of_the_same_authority_is_not_believed(tmp_path: Path) -> None:
    async def work(here: Running) -> None:
        proxy, pair = here.proxy("somebody")
        here.server.trust(proxy)
        async with here.client(pair) as client:
            assert (await client.get())[0] == 401

    with_server(tmp_path, work)


def test_before_it_is_known_who_the_front_proxy_is_nobody_is_answered(tmp_path: Path) -> None:
    async def work(here: Running) -> None:
        async with here.client(here.proxy()[1]) as client:
            with pytest.raises(aiohttp.ClientError):
                await client.get()
        async with here.client() as client:
            assert (await client.get())[0] == 401

    with_server(tmp_path, work)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_nothing_can_be_written(tmp_path: Path, method: str) -> None:
    async def work(here: Running) -> None:
        proxy, pair = here.proxy()
        here.server.trust(proxy)
        async with here.client(pair) as client:
            code, body = await client.get(method=method)
        assert (code, body["reason"]) == (405, "MethodNotAllowed")

    with_server(tmp_path, work)


def test_until_it_is_ready_it_knows_nothing(tmp_path: Path) -> None:
    """A MiniCluster that it has not heard of yet is not unknown."""

    async def work(here: Running) -> None:
        proxy, pair = here.proxy()
        here.server.trust(proxy)
        here.trouble = "not listed yet: pods"
        async with here.client(pair) as client:
            code, body = await client.get()
            assert (code, body["message"]) == (503, "the adapter is not ready: not listed yet: pods")
            assert (await client.get("/openapi/v3"))[0] == 404

    with_server(tmp_path, work)


def test_a_defect_is_an_error_that_reveals_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        async def answer(self, query: queries.Query) -> Any:
            raise RuntimeError("secret words")

    async def work(here: Running) -> None:
        proxy, pair = here.proxy()
        here.server.trust(proxy)
        async with here.client(pair) as client:
            code, body = await client.get()
        assert (code, body["message"]) == (500, "a defect of the adapter; its log says more")

    with_server(tmp_path, work, cast(Any, Broken()))
    assert "secret words" in caplog.text


@pytest.mark.parametrize("accept", ["*/*", "application/vnd.kubernetes.protobuf, application/json"])
def test_answers_are_json_whatever_is_preferred(tmp_path: Path, accept: str) -> None:
    async def work(here: Running) -> None:
        proxy, pair = here.proxy()
        here.server.trust(proxy)
        async with here.client(pair) as client:
            assert (await client.get(Accept=accept))[0] == 200
            _, body = await client.get("/apis", Accept=accept)
            assert body["kind"] == "APIGroupList"

    with_server(tmp_path, work)


def test_probes_need_no_certificate(tmp_path: Path) -> None:
    async def work(here: Running) -> None:
        here.trouble = "not listed yet: pods"
        connector = aiohttp.TCPConnector(ssl=here.trust())
        async with aiohttp.ClientSession(connector=connector) as session:
            found = {}
            for path in ("/healthz", "/readyz"):
                url = f"https://127.0.0.1:{here.port}{path}"
                async with session.get(url, server_hostname=HOST) as answer:
                    found[path] = answer.status, await answer.text()
        assert found == {"/healthz": (200, "ok\n"), "/readyz": (503, "not listed yet: pods\n")}
        await asyncio.sleep(0.01)

    with_server(tmp_path, work)


async def asking(here: Running, pair: Pair, codes: list[int], ended: asyncio.Event) -> None:
    """Ask again and again, on a kept connection and on new ones in turn."""
    async with here.client(pair) as kept:
        while not ended.is_set():
            codes.append((await kept.get())[0])
            async with here.client(pair) as fresh:
                codes.append((await fresh.get())[0])


async def shown(here: Running, pair: Pair) -> bytes:
    """Return the certificate that a new connection is shown."""
    _, writer = await asyncio.open_connection(
        "127.0.0.1", here.port, ssl=here.trust(pair), server_hostname=HOST
    )
    found = writer.get_extra_info("ssl_object").getpeercert(True)
    writer.close()
    with contextlib.suppress(OSError, ssl.SSLError):
        await writer.wait_closed()
    return bytes(found)


async def under_load(here: Running, pair: Pair, change: Callable[[], None]) -> list[int]:
    """Change something while others ask; return the codes of their answers."""
    codes: list[int] = []
    ended = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(asking(here, pair, codes, ended))
        while len(codes) < 10:
            await asyncio.sleep(0.001)
        change()
        seen = len(codes)
        while len(codes) < seen + 20:
            await asyncio.sleep(0.001)
        ended.set()
    return codes


def test_a_new_certificate_is_shown_and_no_request_fails(tmp_path: Path) -> None:
    async def work(here: Running) -> None:
        proxy, pair = here.proxy()
        here.server.trust(proxy)
        before = await shown(here, pair)

        def renew() -> None:
            here.server.renew(here.authority.issue([HOST], datetime.now(UTC)).load)

        codes = await under_load(here, pair, renew)
        assert set(codes) == {200}
        assert await shown(here, pair) != before

    with_server(tmp_path, work)


def test_a_front_proxy_that_gets_a_second_authority_loses_no_request(tmp_path: Path) -> None:
    async def work(here: Running) -> None:
        proxy, pair = here.proxy()
        here.server.trust(proxy)
        other, other_pair = here.proxy()
        both = FrontProxy(proxy.authorities + other.authorities, *other_fields(other))
        codes = await under_load(here, pair, lambda: here.server.trust(both))
        assert set(codes) == {200}
        async with here.client(other_pair) as client:
            assert (await client.get())[0] == 200

    with_server(tmp_path, work)


def other_fields(proxy: FrontProxy) -> tuple[Any, ...]:
    """Return everything but the authorities."""
    return proxy.names, proxy.users, proxy.groups, proxy.uids, proxy.extras


def test_a_former_front_proxy_is_not_believed_any_more(tmp_path: Path) -> None:
    """Not even on the connection that it has."""

    async def work(here: Running) -> None:
        proxy, pair = here.proxy()
        here.server.trust(proxy)
        async with here.client(pair) as client:
            assert (await client.get())[0] == 200
            other, _ = here.proxy()
            here.server.trust(other)
            assert (await client.get())[0] == 401
            with pytest.raises(aiohttp.ClientError):
                await client.get()

    with_server(tmp_path, work)


def test_its_own_metrics_need_no_credentials(tmp_path: Path) -> None:
    """They show no secrets, and no name of anybody's."""

    async def work(here: Running) -> None:
        proxy, pair = here.proxy()
        here.server.trust(proxy)
        async with here.client(pair) as client:
            await client.get()
        async with here.client() as client:
            url = f"https://127.0.0.1:{here.port}/metrics"
            async with client.session.get(url, server_hostname=HOST) as answer:
                text = await answer.text()
        assert 'minicluster_adapter_requests_total{code="200",group="custom.metrics.k8s.io"} 1.0' in text
        assert "team" not in text

    with_server(tmp_path, work)


def test_a_port_that_is_taken_is_reported(tmp_path: Path) -> None:
    async def work(here: Running) -> None:
        nothing = cast(Any, None)
        other = AdapterServer(nothing, nothing, lambda: ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), str, nothing)
        with pytest.raises(
            AdapterSettingsError, match=rf"cannot listen on 127.0.0.1:{here.port}: .*--listen"
        ):
            async with other.serving(("127.0.0.1", here.port)):
                pass

    with_server(tmp_path, work)
