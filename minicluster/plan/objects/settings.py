"""From a MiniCluster document to the settings from which the brokers' files are rendered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_config import settings as to
from broker_config.scheduler_settings import SchedulerSettings
from minicluster import document
from minicluster.document import rank_resources
from minicluster.plan.constants import METRICS_TLS_DIR
from minicluster.plan.objects import labels

if TYPE_CHECKING:
    from minicluster.document import Container, MiniCluster
    from minicluster.plan.records import Site


def broker_settings(cluster: MiniCluster, site: Site) -> to.BrokerSettings:
    """Return the settings of the brokers.

    The list of hosts has the size with which the MiniCluster started (`status.maximumSize`), because brokers
    read it and R only at start. The quorum follows `size`: a lead broker that returns after a shrink would
    else wait for ever.
    """
    spec = cluster.spec
    runner = document.runner(spec)
    return to.BrokerSettings(
        name=cluster.metadata.name,
        size=max(spec.size, 1),
        max_size=document.max_size(cluster),
        quorum=document.quorum(spec),
        mode=to.RunMode(document.run_mode(spec).value),
        command=to.Command(line=runner.command),
        batch_raw=runner.batch_raw,
        logs="" if runner.logs == document.DEFAULT_LOGS else runner.logs,
        submit=to.Submit(
            tasks=spec.tasks,
            option_flags=spec.flux.option_flags,
            command=spec.flux.submit_command,
            label_output=site.label_output,
            profile=spec.profile or "",
            passes_input=site.passes_input,
        ),
        wrap=spec.flux.wrap,
        environment=spec.flux.environment,
        hooks=_hooks(runner),
        logging=_logging(cluster),
        connect_timeout=spec.flux.connect_timeout,
        topology=spec.flux.topology,
        scheduler=_scheduler(cluster),
        bursting=_bursting(cluster),
        network=_network(cluster, site),
        node=to.NodeResources(
            cores=rank_resources.cores(runner.resources, site.cores),
            gpus=rank_resources.gpus(runner.resources),
        ),
        archive=to.ArchiveSettings(path=spec.archive.path, drain_timeout=spec.drain_timeout_seconds),
        keeps_state=spec.flux.state_volume is not None,
        view=flux_view(cluster),
        complete_workers=spec.flux.complete_workers,
        disable_socket=spec.flux.disable_socket,
        curve_path=site.curve_path,
        config_dir=site.config_dir,
        broker_toml=spec.flux.broker_config,
        lead_api=_lead_api(cluster, site) if site.lead_api else None,
    )


def _lead_api(cluster: MiniCluster, site: Site) -> to.LeadApiSettings:
    tls = METRICS_TLS_DIR if cluster.spec.autoscaling and cluster.spec.autoscaling.tls_secret else ""
    smallest = document.min_size(cluster.spec)
    return to.LeadApiSettings(site.lead_api_port, site.curve_dir, smallest, tls, site.tokens_dir)


def service_settings(
    cluster: MiniCluster, container: Container, *, beside_broker: bool
) -> to.ServiceSettings:
    """Return the settings of the script of a sidecar (beside a broker) or of a service."""
    flux = cluster.spec.flux
    return to.ServiceSettings(
        command=container.command,
        hooks=_hooks(container),
        logging=_logging(cluster),
        environment=flux.environment if beside_broker else {},
        view=flux_view(cluster) if beside_broker else to.FluxView(disable=True),
        wait_socket=beside_broker and not (flux.no_wait_socket or flux.disable_socket),
        stays=beside_broker,
    )


def _hooks(container: Container) -> to.HookScripts:
    commands = container.commands
    return to.HookScripts(
        init=commands.init,
        pre=commands.pre,
        broker_pre=commands.broker_pre,
        worker_pre=commands.worker_pre,
        service_pre=commands.service_pre,
        post=commands.post,
        prefix=commands.prefix,
        script=commands.script,
    )


def _logging(cluster: MiniCluster) -> to.LoggingSettings:
    logging = cluster.spec.logging
    return to.LoggingSettings(
        quiet=logging.quiet,
        strict=logging.strict,
        debug=logging.debug,
        zeromq=logging.zeromq,
        timed=logging.timed,
        level=cluster.spec.flux.log_level,
    )


def _scheduler(cluster: MiniCluster) -> SchedulerSettings:
    scheduler = cluster.spec.flux.scheduler
    return SchedulerSettings(
        policy=scheduler.queue_policy,
        simple=scheduler.simple,
        settings=scheduler.settings,
        placement=scheduler.placement,
        placement_settings=scheduler.placement_settings,
        affinity=scheduler.affinity,
    )


def _bursting(cluster: MiniCluster) -> to.BurstingSettings:
    bursting = cluster.spec.flux.bursting
    lead, policy = bursting.lead_broker, cluster.spec.bursting
    return to.BurstingSettings(
        lead=to.LeadBrokerSettings(lead.address, lead.name, lead.size, lead.port) if lead.address else None,
        hostlist=bursting.hostlist,
        clusters=document.bursted_clusters(cluster),
        managed=policy is not None,
        gives_certificate=policy is not None and policy.join,
        isolated=policy is not None and not policy.join,
    )


def _network(cluster: MiniCluster, site: Site) -> to.NetworkSettings:
    network = cluster.spec.network
    return to.NetworkSettings(
        service=document.headless_name(cluster),
        namespace=labels.namespace(cluster, site),
        domain=network.domain,
        port=network.port,
        minimal=cluster.spec.flux.minimal_service,
        endpoints=site.endpoints,
    )


def flux_view(cluster: MiniCluster) -> to.FluxView:
    """Return how Flux is brought into the pods."""
    view = cluster.spec.flux.container
    return to.FluxView(mount_path=view.mount_path, python_path=view.python_path, disable=view.disable)
