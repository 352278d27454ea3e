"""The RESTful API's chart, rendered by helm: what is installed, and what its values do."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from deploy.render import template
from restful.kubernetes.command import app
from tests.deploy.files import REST_CHART, Object, grants, of_kind, the
from tests.kubernetes.deploy.rest_chart import (
    NAME,
    NEEDED,
    POSTGRESQL,
    PROXY,
    ROUTE,
    container,
    environment,
    migration,
    options,
    pod,
    rendered,
)


def test_helm_finds_no_fault(helm: Path) -> None:
    argv = [str(helm), "lint", "--strict", str(REST_CHART), *options(*NEEDED)]
    completed = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stdout


def test_two_renderings_are_the_same(helm: Path) -> None:
    """Nothing is made up, so that a tool which compares them finds no difference."""
    texts = [template(helm, *options(*NEEDED), chart=REST_CHART) for _ in range(2)]
    assert texts[0] == texts[1]


def test_what_is_installed(helm: Path) -> None:
    found = sorted((each["kind"], each["metadata"]["name"]) for each in rendered(helm))
    assert found == [
        ("ClusterRole", NAME),
        ("ClusterRoleBinding", NAME),
        ("Deployment", NAME),
        ("NetworkPolicy", NAME),
        ("PersistentVolumeClaim", f"{NAME}-database"),
        ("Role", f"{NAME}-keys"),
        ("RoleBinding", f"{NAME}-keys"),
        ("Service", NAME),
        ("Service", f"{NAME}-metrics"),
        ("ServiceAccount", NAME),
    ]


def test_all_is_in_the_namespace_of_the_release_and_labelled(helm: Path) -> None:
    found = rendered(helm, POSTGRESQL, "replicas=2")
    scoped = [each for each in found if not each["kind"].startswith("ClusterRole")]
    assert {each["metadata"]["namespace"] for each in scoped} == {"site"}
    assert {each["metadata"]["labels"]["app.kubernetes.io/name"] for each in found} == {NAME}


KEYS = ("/secrets", {"get"}, ["minicluster-jobs"])
FOLLOWED = ("flux-framework.org/miniclusters", {"list", "watch"}, None)


def test_it_may_follow_miniclusters_and_get_one_secret_and_no_more(helm: Path) -> None:
    found = rendered(helm)
    roles = [each for each in found if each["kind"] in {"Role", "ClusterRole"}]
    assert list(grants(roles)) == [FOLLOWED, KEYS]
    assert the(found, "Role")["metadata"]["namespace"] == "site"


def test_all_rights_are_its_own_accounts(helm: Path) -> None:
    found = rendered(helm)
    bindings = [each for each in found if each["kind"].endswith("RoleBinding")]
    [account] = [each["subjects"][0] for each in bindings[:1]]
    assert account == {"kind": "ServiceAccount", "name": NAME, "namespace": "site"}
    assert [each["subjects"] for each in bindings] == [[account]] * 2
    assert pod(found)["serviceAccountName"] == NAME
    assert the(found, "ServiceAccount")["automountServiceAccountToken"] is False


def test_of_some_namespaces_it_follows_only_their_miniclusters(helm: Path) -> None:
    found = rendered(helm, "watchNamespaces={team-a,team-b}")
    assert of_kind(found, "ClusterRole") == of_kind(found, "ClusterRoleBinding") == []
    roles = of_kind(found, "Role")
    assert [each["metadata"]["namespace"] for each in roles] == ["site", "team-a", "team-b"]
    assert list(grants(roles)) == [KEYS, FOLLOWED, FOLLOWED]
    assert [word for word in container(found)["args"] if word.startswith("--namespace")] == [
        "--namespace=team-a",
        "--namespace=team-b",
    ]


@pytest.mark.parametrize("values", [(), (POSTGRESQL,)], ids=["sqlite", "postgresql"])
def test_both_containers_have_no_privilege_and_limits(helm: Path, values: tuple[str, ...]) -> None:
    found = rendered(helm, *values)
    context = pod(found)["securityContext"]
    assert (context["runAsNonRoot"], context["runAsUser"]) == (True, 65532)
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    for each in (container(found), migration(found)):
        assert each["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert each["resources"]["limits"] == {"cpu": "2", "memory": "512Mi"}
        assert each["image"] == "ghcr.io/flux-framework/minicluster-rest:0.1.0"


def test_no_secret_is_in_the_environment_or_on_a_command_line(helm: Path) -> None:
    """They are files, of its group alone."""
    found = rendered(helm, POSTGRESQL)
    words = str([container(found)["args"], migration(found)["args"]])
    assert "secretKeyRef" not in str(pod(found))
    assert "postgresql" not in words
    secrets = [each["secret"] for each in pod(found)["volumes"]]
    assert [each["secretName"] for each in secrets] == ["db", "master", "tls"]
    assert {each["defaultMode"] for each in secrets} == {0o440}
    mounts = [mount for each in (container(found), migration(found)) for mount in each["volumeMounts"]]
    assert {mount["readOnly"] for mount in mounts} == {True}


def test_the_migration_has_the_database_and_nothing_else(helm: Path) -> None:
    found = rendered(helm, POSTGRESQL)
    assert migration(found)["args"] == ["migrate"]
    assert environment(migration(found)) == {
        "MINICLUSTER_REST_DATABASE": "file:/etc/minicluster-rest/database/url"
    }
    assert [each["name"] for each in migration(found)["volumeMounts"]] == ["database"]


def test_sqlite_is_on_a_volume_that_one_pod_after_the_other_has(helm: Path) -> None:
    found = rendered(helm)
    assert the(found, "Deployment")["spec"]["strategy"] == {"type": "Recreate"}
    assert pod(found)["securityContext"]["fsGroup"] == 65532
    assert environment(container(found))["MINICLUSTER_REST_DATABASE"] == (
        "sqlite:////var/lib/minicluster-rest/state/rest.db"
    )
    [volume] = [each for each in pod(found)["volumes"] if each["name"] == "database"]
    assert volume["persistentVolumeClaim"] == {"claimName": f"{NAME}-database"}
    assert the(found, "PersistentVolumeClaim")["metadata"]["annotations"] == {
        "helm.sh/resource-policy": "keep"
    }


def test_of_replicas_with_postgresql_one_more_starts_before_one_ends(helm: Path) -> None:
    found = rendered(helm, POSTGRESQL, "replicas=2")
    spec = the(found, "Deployment")["spec"]
    assert spec["replicas"] == 2
    assert spec["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    assert the(found, "PodDisruptionBudget")["spec"]["maxUnavailable"] == 1
    assert of_kind(found, "PersistentVolumeClaim") == []


def test_it_has_time_to_end_streams_after_it_left_the_service(helm: Path) -> None:
    found = rendered(helm)
    slept = container(found)["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert slept + 18 < pod(found)["terminationGracePeriodSeconds"]


@pytest.mark.parametrize(("needed", "scheme"), [(NEEDED, "https"), (PROXY, "http")], ids=["tls", "proxy"])
def test_the_port_is_named_by_what_is_spoken_there(helm: Path, needed: tuple[str, ...], scheme: str) -> None:
    found = rendered(helm, needed=needed)
    [port] = the(found, "Service", NAME)["spec"]["ports"]
    assert port == {"name": scheme, "appProtocol": scheme, "port": 443, "targetPort": scheme}
    assert container(found)["ports"][0] == {"name": scheme, "containerPort": 8443}
    policy = the(found, "NetworkPolicy")["spec"]["ingress"][0]
    assert policy["ports"] == [{"port": scheme, "protocol": "TCP"}]


@pytest.mark.parametrize(
    ("value", "kind", "number"),
    [
        ("podDisruptionBudget=false", "PodDisruptionBudget", 0),
        ("replicas=1", "PodDisruptionBudget", 0),
        ("networkPolicy.enabled=false", "NetworkPolicy", 0),
        ("metrics.service=false", "Service", 1),
        ("metrics.serviceMonitor.enabled=true", "ServiceMonitor", 1),
        ("serviceAccount.create=false,serviceAccount.name=given", "ServiceAccount", 0),
    ],
)
def test_a_value_decides_what_is_installed(helm: Path, value: str, kind: str, number: int) -> None:
    assert len(of_kind(rendered(helm, POSTGRESQL, "replicas=2", value), kind)) == number


@pytest.mark.parametrize(
    ("value", "number"),
    [("database.sqlite.existingClaim=mine", 0), (POSTGRESQL, 0), ("database.sqlite.size=9Gi", 1)],
    ids=["given", "postgresql", "size"],
)
def test_a_claim_is_made_where_none_is_given(helm: Path, value: str, number: int) -> None:
    assert len(of_kind(rendered(helm, value), "PersistentVolumeClaim")) == number


AT: dict[str, tuple[str, str, Any]] = {
    "url": ("url=https://other.example", "env", {"MINICLUSTER_REST_URL": "https://other.example"}),
    "key": ("masterKey.key=k", "env", {"MINICLUSTER_REST_MASTER_KEY": "/etc/minicluster-rest/master-key/k"}),
    "file": (
        f"{POSTGRESQL},database.postgresql.key=dsn",
        "env",
        {"MINICLUSTER_REST_DATABASE": "file:/etc/minicluster-rest/database/dsn"},
    ),
    "names": ("hostNames={a.example}", "args", ["--host-name=a.example"]),
    "own name": ("replicas=1", "args", [f"--host-name={NAME}.site.svc"]),
    "certificate": ("replicas=1", "args", ["--tls-cert=/etc/minicluster-rest/tls/tls.crt"]),
    "keys": ("replicas=1", "args", ["--tokens-secret=site/minicluster-jobs"]),
    "proxies": (
        f"behindProxy={{10.0.0.7,fd00::/8}},{PROXY[3]}",
        "args",
        ["--behind-proxy=10.0.0.7", "--behind-proxy=fd00::/8"],
    ),
    "tenancy": ("tenancy=own", "args", ["--tenancy-default=own"]),
    "format": ("log.format=text", "args", ["--log-format=text"]),
    "level": ("log.level=debug", "args", ["--log-level=debug"]),
    "tag": ("image.tag=next", "image", "ghcr.io/flux-framework/minicluster-rest:next"),
    "repository": ("image.repository=here/it", "image", "here/it:0.1.0"),
    "pull": ("image.pullPolicy=Always", "imagePullPolicy", "Always"),
}


@pytest.mark.parametrize(("value", "field", "expected"), AT.values(), ids=AT)
def test_a_value_gets_into_the_container(helm: Path, value: str, field: str, expected: Any) -> None:
    one = container(rendered(helm, value))
    if field == "env":
        assert expected.items() <= environment(one).items()
    elif field == "args":
        assert [word for word in one["args"] if word in expected] == expected
    else:
        assert one[field] == expected


@pytest.mark.parametrize(
    ("value", "name", "expected"),
    [
        ("priorityClassName=high", "priorityClassName", "high"),
        ("nodeSelector.pool=infra", "nodeSelector", {"pool": "infra"}),
        ("tolerations[0].operator=Exists", "tolerations", [{"operator": "Exists"}]),
        ("affinity.nodeAffinity.x=y", "affinity", {"nodeAffinity": {"x": "y"}}),
        ("imagePullSecrets[0].name=login", "imagePullSecrets", [{"name": "login"}]),
        ("serviceAccount.name=given", "serviceAccountName", "given"),
    ],
)
def test_a_value_gets_into_the_pod(helm: Path, value: str, name: str, expected: object) -> None:
    assert pod(rendered(helm, value))[name] == expected


def test_the_service_understands_what_it_is_started_with(helm: Path) -> None:
    behind = ("behindProxy={10.0.0.7}", PROXY[3])
    found = rendered(helm, "watchNamespaces={team-a}", "hostNames={a.example}", *behind)
    command = get_command(app)
    given = command.make_context("rest-api", list(container(found)["args"])).params
    assert (given["listen"], given["namespaces"], given["tenancy"]) == (":8443", ["team-a"], "shared")
    assert given["host_name"] == [f"{NAME}.site.svc", "a.example"]
    assert migration(found)["args"][0] in command.list_commands(command.make_context("rest-api", []))


def test_a_label_of_the_users_cannot_hide_the_service_from_network_policies(helm: Path) -> None:
    found = rendered(
        helm, "podLabels.team=hpc", r"podLabels.app\.kubernetes\.io/name=mine", "podAnnotations.a=b"
    )
    metadata = the(found, "Deployment")["spec"]["template"]["metadata"]
    assert (metadata["labels"]["team"], metadata["labels"]["app.kubernetes.io/name"]) == ("hpc", NAME)
    assert metadata["annotations"] == {"a": "b", "kubectl.kubernetes.io/default-container": "rest-api"}


def service(helm: Path, *values: str) -> Object:
    """Return the Service that users reach."""
    found: Object = the(rendered(helm, *values), "Service", NAME)
    return found


def test_a_load_balancer_shows_users_addresses(helm: Path) -> None:
    found = service(
        helm, "service.type=LoadBalancer", "service.externalTrafficPolicy=Local", "service.port=8443",
        "service.annotations.a=b",
    )  # fmt: skip
    spec = found["spec"]
    assert (spec["type"], spec["externalTrafficPolicy"], spec["ports"][0]["port"]) == (
        "LoadBalancer",
        "Local",
        8443,
    )
    assert found["metadata"]["annotations"] == {"a": "b"}


def test_an_ingress_is_for_the_name_in_the_url(helm: Path) -> None:
    found = the(
        rendered(
            helm, "ingress.enabled=true", "ingress.className=nginx", "ingress.tlsSecret=public",
            "ingress.annotations.a=b", needed=PROXY,
        ),
        "Ingress",
    )  # fmt: skip
    spec = found["spec"]
    assert spec["ingressClassName"] == "nginx"
    assert spec["tls"] == [{"hosts": ["mc.example.org"], "secretName": "public"}]
    [rule] = spec["rules"]
    assert rule["host"] == "mc.example.org"
    backend = rule["http"]["paths"][0]["backend"]
    assert backend == {"service": {"name": NAME, "port": {"name": "http"}}}
    assert found["metadata"]["annotations"] == {"a": "b"}


@pytest.mark.parametrize(
    ("timeout", "expected"), [("0s", {"request": "0s"}), ("", None)], ids=["none", "default"]
)
def test_a_route_is_for_the_name_in_the_url(helm: Path, timeout: str, expected: object) -> None:
    values = (*ROUTE, "httpRoute.parentRefs[0].namespace=gateways", f"httpRoute.requestTimeout={timeout}")
    spec = the(rendered(helm, *values, needed=PROXY), "HTTPRoute")["spec"]
    assert spec["parentRefs"] == [{"name": "public", "namespace": "gateways"}]
    assert spec["hostnames"] == ["mc.example.org"]
    [rule] = spec["rules"]
    assert rule["backendRefs"] == [{"name": NAME, "port": 443}]
    assert rule.get("timeouts") == expected


def policy(helm: Path, *values: str) -> Object:
    """Return who may connect to the pods, and to whom they may."""
    found: Object = the(rendered(helm, *values), "NetworkPolicy")["spec"]
    return found


def test_users_come_in_and_leads_dns_and_the_api_server_are_reached(helm: Path) -> None:
    spec = policy(helm)
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    assert spec["ingress"] == [{"ports": [{"port": "https", "protocol": "TCP"}]}]
    leads, dns, servers = spec["egress"]
    assert leads == {
        "ports": [{"port": 8443, "protocol": "TCP"}],
        "to": [
            {
                "namespaceSelector": {},
                "podSelector": {
                    "matchLabels": {
                        "app.kubernetes.io/name": "minicluster",
                        "app.kubernetes.io/component": "broker",
                    }
                },
            }
        ],
    }
    assert [(each["port"], each["protocol"]) for each in dns["ports"]] == [(53, "UDP"), (53, "TCP")]
    assert [each["port"] for each in servers["ports"]] == [443, 6443]
    assert {"to"} & (dns.keys() | servers.keys()) == set()


PEER = {"podSelector": {"matchLabels": {"a": "b"}}}


def test_peers_narrow_each_direction(helm: Path) -> None:
    names = ("clients", "scrapers", "database", "apiServers")
    peers = [f"networkPolicy.{name}[0].podSelector.matchLabels.a=b" for name in names]
    spec = policy(
        helm, POSTGRESQL, "networkPolicy.apiServerPorts={9443}", "database.postgresql.port=6432", *peers
    )
    assert [each["from"] for each in spec["ingress"]] == [[PEER], [PEER]]
    servers, database = spec["egress"][2:]
    assert servers == {"ports": [{"port": 9443, "protocol": "TCP"}], "to": [PEER]}
    assert database == {"ports": [{"port": 6432, "protocol": "TCP"}], "to": [PEER]}


OIDC = ("oidc.clientId=mc", "oidc.secretName=login")


def test_users_may_log_in_by_an_openid_provider(helm: Path) -> None:
    """What proves the service there is in a file, and so not on its command line."""
    found = rendered(helm, "oidc.issuer=https://login.example/realms/hpc", *OIDC)
    words = [word for word in container(found)["args"] if word.startswith("--oidc")]
    assert words == [
        "--oidc-issuer=https://login.example/realms/hpc",
        "--oidc-client-id=mc",
        "--oidc-client-secret-file=/etc/minicluster-rest/oidc/client-secret",
    ]
    volume = pod(found)["volumes"][-1]
    assert volume == {"name": "oidc", "secret": {"secretName": "login", "defaultMode": 0o440}}
    assert container(found)["volumeMounts"][-1]["mountPath"] == "/etc/minicluster-rest/oidc"


@pytest.mark.parametrize(("address", "port"), [("login.example/x", 443), ("login.example:8443", 8443)])
def test_the_provider_is_reached_at_its_port(helm: Path, address: str, port: int) -> None:
    spec = policy(
        helm, f"oidc.issuer=https://{address}", *OIDC, "networkPolicy.provider[0].podSelector.matchLabels.a=b"
    )
    assert spec["egress"][-1] == {"ports": [{"port": port, "protocol": "TCP"}], "to": [PEER]}


def test_leads_of_some_namespaces_are_reached_only_there(helm: Path) -> None:
    leads = policy(helm, "watchNamespaces={team-a}")["egress"][0]["to"][0]["namespaceSelector"]
    assert leads == {
        "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["team-a"]}]
    }


def test_with_a_service_monitor_prometheus_may_scrape(helm: Path) -> None:
    found = policy(helm, "metrics.serviceMonitor.enabled=true")["ingress"][1]
    labels = {"app.kubernetes.io/name": "prometheus"}
    assert found["from"] == [{"namespaceSelector": {}, "podSelector": {"matchLabels": labels}}]
    assert found["ports"] == [{"port": "health", "protocol": "TCP"}]
