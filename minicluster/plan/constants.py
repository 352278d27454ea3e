"""Names that users and other programs see: labels, condition types, reasons, phases, paths."""

from __future__ import annotations

from enum import StrEnum

API_VERSION = "flux-framework.org/v1alpha2"
KIND = "MiniCluster"

# Recommended labels (kubernetes.io/docs: "Recommended Labels"). No version label: the pod template of a
# Job cannot change, and a new operator must not rewrite every object.
LABEL_NAME = "app.kubernetes.io/name"
LABEL_INSTANCE = "app.kubernetes.io/instance"
LABEL_COMPONENT = "app.kubernetes.io/component"
LABEL_PART_OF = "app.kubernetes.io/part-of"
LABEL_MANAGED_BY = "app.kubernetes.io/managed-by"
APPLICATION = "minicluster"
PART_OF = "flux-framework"
MANAGER = "minicluster"
# The pods that may use the lead API, by their LABEL_NAME.
OPERATOR_APPLICATION = "minicluster-operator"
METRICS_APPLICATION = "minicluster-metrics-adapter"
REST_APPLICATION = "minicluster-rest"
BURST_APPLICATION = "minicluster-burst"

LABEL_SELECTOR = "hpa-selector"
"""The label of broker pods by which the scale subresource selects them (the reference's name)."""
LABEL_POD_INDEX = "batch.kubernetes.io/job-completion-index"
LABEL_KUEUE_QUEUE = "kueue.x-k8s.io/queue-name"
LABEL_NAMESPACE_NAME = "kubernetes.io/metadata.name"
LABEL_ARCHITECTURE = "kubernetes.io/arch"
TOPOLOGY_HOST = "kubernetes.io/hostname"
TAINT_CORDONED = "node.kubernetes.io/unschedulable"
"""The taint of a node that is cordoned; the scheduler asks pods for its toleration."""

# Files and directories in a broker pod.
CONFIG_DIR = "/etc/minicluster"
CURVE_DIR = "/etc/minicluster-curve"
RUN_VOLUME = "/run/minicluster"
STATE_VOLUME = "/var/lib/minicluster"
# The broker's own directories lie inside the volumes. The root of a volume belongs to root, so a broker of
# another user could not make it private.
RUN_DIR = f"{RUN_VOLUME}/broker"
STATE_DIR = f"{STATE_VOLUME}/state"
SHARED_MEMORY = "/dev/shm"  # noqa: S108  # a mount point, not a temporary file
MUNGE_DIR = "/etc/munge"
METRICS_TLS_DIR = "/etc/minicluster-metrics-tls"
TOKENS_DIR = "/etc/minicluster-tokens"
CURVE_FILE = "curve.cert"
# Beside the certificate, where there is a lead API.
LEAD_CERTIFICATE = "door.crt"
LEAD_KEY = "door.key"
LEAD_TOKEN = "door.token"  # noqa: S105  # the name of a file
METRICS_TOKEN = "metrics.token"  # noqa: S105  # the name of a file
START_SCRIPT = "start.sh"

ANNOTATION_TOKENS = "minicluster.flux-framework.org/tokens"
"""On the PodDisruptionBudget: the generations of the tokens in the second Secret, written before it."""
ANNOTATION_REPLACES = "minicluster.flux-framework.org/replaces"
"""On the second Secret: the generations of the tokens in the one whose place it takes."""

ANNOTATION_TENANCY = "minicluster.flux-framework.org/tenancy"
"""On a MiniCluster: `shared` or `own`, for the RESTful API."""
ANNOTATION_OWNER = "minicluster.flux-framework.org/owner"
"""On a MiniCluster: the name of the user of the RESTful API whose it is."""

# The exit-code contract of the start script. Pods with these codes are counted and replaced; every other code
# fails the MiniCluster. 75: a follower that ended before its instance did; 137 and 143: killed, terminated.
REPLACED_CODES = (75, 137, 143)

FINALIZER = "flux-framework.org/save"
"""The finalizer of a MiniCluster whose instance is to be saved before it is deleted."""
BURST_FINALIZER = "flux-framework.org/burst"
"""The finalizer of a MiniCluster that has bursts which are not deleted yet. A burst service writes it."""
SAVE_SECONDS = 120
"""Seconds that a save may take besides waiting for jobs: writing the dump, ending the broker."""

LEAD_API_PORT = 8443
"""HTTPS port of the lead API: status for the operator, metrics for the adapter."""

READ_BY_OWNER = 0o400
EXECUTABLE = 0o555
# "nobody" on every distribution: a group that owns nothing else.
NOBODY = 65534


class Component(StrEnum):
    """Which part of a MiniCluster an object belongs to (LABEL_COMPONENT)."""

    BROKER = "broker"
    SERVICES = "services"
    CONFIGURATION = "configuration"
    NETWORK = "network"
    FLUX_FILES = "flux-files"


class ConditionType(StrEnum):
    """What the conditions in a MiniCluster's status are about, in the order in which they are shown."""

    VALID = "Valid"
    RESOURCES_CREATED = "ResourcesCreated"
    PODS_SCHEDULED = "PodsScheduled"
    BROKERS_READY = "BrokersReady"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    SUSPENDED = "Suspended"
    RESIZING = "Resizing"
    AUTOSCALING = "Autoscaling"
    """Only where the document asks for an autoscaler."""
    BURSTING = "Bursting"
    """Only where a service manages the bursts."""
    EXCLUSIVE_CORES = "ExclusiveCores"
    """Only where brokers were cut by a profile."""


SELDOM = frozenset({ConditionType.AUTOSCALING, ConditionType.BURSTING, ConditionType.EXCLUSIVE_CORES})
"""The conditions that only some documents have."""


class Reason(StrEnum):
    """Why a condition is as it is; for reasons that concern users an Event is sent as well (`events.py`)."""

    ACCEPTED = "Accepted"
    INVALID = "Invalid"
    SIZE_OUT_OF_RANGE = "SizeOutOfRange"
    PLANNING_LIMIT_EXCEEDED = "PlanningLimitExceeded"
    NOT_CHECKED = "NotChecked"

    CREATING = "Creating"
    CREATED = "Created"
    NAME_TAKEN = "NameTaken"
    REFUSED = "Refused"

    NO_PODS = "NoPods"
    HELD_BACK = "HeldBack"
    ALL_SCHEDULED = "AllScheduled"
    SCHEDULING = "Scheduling"
    UNSCHEDULABLE = "Unschedulable"

    NOT_REPORTED = "NotReported"
    JOINING = "Joining"
    ALL_JOINED = "AllJoined"
    BROKERS_MISSING = "BrokersMissing"

    PODS_STARTING = "PodsStarting"
    PODS_STUCK = "PodsStuck"
    PODS_RUNNING = "PodsRunning"
    COMMAND_RUNNING = "CommandRunning"
    READY_FOR_WORK = "ReadyForWork"
    LEAD_LOST = "LeadLost"
    LEAD_REPLACED = "LeadReplaced"

    NOT_FINISHED = "NotFinished"
    FINISHED = "Finished"
    COMMAND_SUCCEEDED = "CommandSucceeded"
    COMMAND_FAILED = "CommandFailed"
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    TOO_MANY_LOST_PODS = "TooManyLostPods"
    JOB_FAILED = "JobFailed"

    SUSPENDED = "Suspended"
    QUEUED = "Queued"
    NOT_SUSPENDED = "NotSuspended"
    SAVING = "Saving"
    SAVE_FAILED = "SaveFailed"
    SAVED = "Saved"
    NOT_SAVED = "NotSaved"

    AT_SIZE = "AtSize"
    GROWING = "Growing"
    DRAINING = "Draining"
    DRAIN_TIMED_OUT = "DrainTimedOut"
    JOBS_RESTARTED = "JobsRestarted"
    SHRINKING = "Shrinking"

    FOLLOWING = "Following"

    NO_BURSTS = "NoBursts"
    BURSTS_STARTING = "BurstsStarting"
    BURSTS_ACTIVE = "BurstsActive"
    BURSTS_ENDING = "BurstsEnding"

    GUARANTEED = "Guaranteed"
    NOT_GUARANTEED = "NotGuaranteed"
    NOT_PINNED = "NotPinned"


class Phase(StrEnum):
    """One word for the state of a MiniCluster, for users."""

    INVALID = "Invalid"
    PENDING = "Pending"
    STARTING = "Starting"
    RUNNING = "Running"
    RESIZING = "Resizing"
    SUSPENDED = "Suspended"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
