"""Kubernetes' security contexts, whole, so that a misspelt key is caught here and not dropped there."""

from typing import Annotated, Literal

from pydantic import Field

from minicluster.document.record import Record
from minicluster.document.scalars import MAX_ENTRIES, Flag, ShortText, UserId

Names = Annotated[tuple[ShortText, ...], Field(max_length=MAX_ENTRIES)]


class Capabilities(Record):
    """Linux capabilities to add and to drop."""

    add: Names = Field((), description="Capabilities to add, without `CAP_`.")
    drop: Names = Field((), description="Capabilities to drop; `ALL` drops every one.")


class SeLinuxOptions(Record):
    """An SELinux label."""

    user: ShortText | None = Field(None, description="SELinux user.")
    role: ShortText | None = Field(None, description="SELinux role.")
    type: ShortText | None = Field(None, description="SELinux type.")
    level: ShortText | None = Field(None, description="SELinux level.")


class WindowsOptions(Record):
    """Options for Windows nodes (Flux does not run there; sidecar services may)."""

    gmsa_credential_spec_name: ShortText | None = Field(None, description="Name of the GMSA credential spec.")
    gmsa_credential_spec: ShortText | None = Field(None, description="The GMSA credential spec itself.")
    run_as_user_name: ShortText | None = Field(None, description="User that the processes run as.")
    host_process: Flag | None = Field(None, description="Run as a host process container.")


class SeccompProfile(Record):
    """Which system calls are allowed."""

    type: Literal["Localhost", "RuntimeDefault", "Unconfined"] = Field(
        description="Where the profile comes from."
    )
    localhost_profile: ShortText | None = Field(None, description="File on the node, for type `Localhost`.")


class AppArmorProfile(Record):
    """Which AppArmor profile confines the processes."""

    type: Literal["Localhost", "RuntimeDefault", "Unconfined"] = Field(
        description="Where the profile comes from."
    )
    localhost_profile: ShortText | None = Field(
        None, description="Profile on the node, for type `Localhost`."
    )


class Sysctl(Record):
    """A kernel parameter of the pod's namespaces."""

    name: ShortText = Field(description="Name of the parameter.")
    value: ShortText = Field(description="Its value.")


class SecurityContext(Record):
    """Security settings of one container, passed through to Kubernetes."""

    allow_privilege_escalation: Flag | None = Field(
        None, description="Whether a process may gain more privileges than its parent."
    )
    app_armor_profile: AppArmorProfile | None = Field(None, description="AppArmor profile.")
    capabilities: Capabilities | None = Field(None, description="Linux capabilities.")
    privileged: Flag | None = Field(None, description="Run as root on the host, in effect.")
    proc_mount: Literal["Default", "Unmasked"] | None = Field(None, description="How /proc is mounted.")
    read_only_root_filesystem: Flag | None = Field(None, description="Mount the image read-only.")
    run_as_group: UserId | None = Field(None, description="Group id of the processes.")
    run_as_non_root: Flag | None = Field(None, description="Refuse to start as user 0.")
    run_as_user: UserId | None = Field(None, description="User id of the processes.")
    se_linux_options: SeLinuxOptions | None = Field(None, description="SELinux label.")
    seccomp_profile: SeccompProfile | None = Field(None, description="Seccomp profile.")
    windows_options: WindowsOptions | None = Field(None, description="Options for Windows nodes.")


class PodSecurityContext(Record):
    """Security settings of the whole pod, passed through to Kubernetes."""

    app_armor_profile: AppArmorProfile | None = Field(None, description="AppArmor profile.")
    fs_group: UserId | None = Field(None, description="Group that owns the pod's volumes.")
    fs_group_change_policy: Literal["Always", "OnRootMismatch"] | None = Field(
        None, description="When the ownership of volumes is changed."
    )
    run_as_group: UserId | None = Field(None, description="Group id of the processes.")
    run_as_non_root: Flag | None = Field(None, description="Refuse to start as user 0.")
    run_as_user: UserId | None = Field(None, description="User id of the processes.")
    se_linux_change_policy: Literal["MountOption", "Recursive"] | None = Field(
        None, description="How volumes get their SELinux label."
    )
    se_linux_options: SeLinuxOptions | None = Field(None, description="SELinux label.")
    seccomp_profile: SeccompProfile | None = Field(None, description="Seccomp profile.")
    supplemental_groups: Annotated[tuple[UserId, ...], Field(max_length=MAX_ENTRIES)] = Field(
        (), description="Further groups of the processes."
    )
    supplemental_groups_policy: Literal["Merge", "Strict"] | None = Field(
        None, description="Whether the image's own groups count too."
    )
    sysctls: Annotated[tuple[Sysctl, ...], Field(max_length=MAX_ENTRIES)] = Field(
        (), description="Kernel parameters."
    )
    windows_options: WindowsOptions | None = Field(None, description="Options for Windows nodes.")
