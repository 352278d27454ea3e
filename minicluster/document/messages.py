"""The messages of broken rules, which the validator and the API server share."""

from typing import Final

from minicluster.document.bounds import MAX_CORES, MAX_GPUS, MAX_HOSTS
from minicluster.document.bursting import FENCE_MARGIN

BEYOND_START: Final = (
    "spec.size is greater than the number of hosts that Flux was told of when it started"
    " (status.maximumSize); make a new MiniCluster with a greater spec.maxSize"
)
HOST_NAME_LENGTH: Final = (
    "the name is too long: the hosts' names, <name>-<index>, must fit into 63 characters"
)
SERVICES_NAME_LENGTH: Final = (
    "the name is too long: that of the services pod, <name>-services, must fit into 63 characters"
)
SIZE_ZERO: Final = "size must be at least 1, unless suspend is true"
ABOVE_MAX_SIZE: Final = "size must not be greater than maxSize"
BELOW_MIN_SIZE: Final = "size must not be less than minSize"
MIN_ABOVE_MAX: Final = "minSize must not be greater than maxSize"
ONE_RUNNER: Final = "exactly one of several containers must say runFlux: true"
NAME_NEEDED: Final = "a container that does not run Flux needs a name"
SERVICE_NAME_NEEDED: Final = "a service needs a name"
SAME_NAME: Final = "containers of one pod need different names"
SERVICE_HOOKS: Final = "a service has no pre, brokerPre or workerPre; use servicePre"
SCRIPT_AND_COMMAND: Final = "command and commands.script exclude each other"
LAUNCHER_AND_BATCH: Final = "launcher and batch exclude each other"
AUTOSCALING_MIN: Final = "autoscaling.minSize must not be less than minSize"
AUTOSCALING_MAX: Final = "autoscaling.maxSize must not be greater than maxSize"
AUTOSCALING_BEYOND: Final = "autoscaling.minSize must not be greater than maxSize"
AUTOSCALING_ORDER: Final = "autoscaling.minSize must not be greater than autoscaling.maxSize"
SAME_PORT: Final = "a port is given twice"
VOLUME_SOURCE: Final = (
    "a volume has one source: hostPath, configMapName, claimName, secretName, csiDriver or emptyDir"
)
VOLUME_PATH: Final = "a hostPath or claimName volume, or one without a source, needs a path to be mounted at"
VOLUME_TWICE: Final = "a volume of this name has another source in another container of the pod"
VOLUME_EXTRA: Final = "this setting belongs to another kind of volume"
VARIABLE_TWICE: Final = "a variable is given both in environment and in secrets"
AFFINITY: Final = "disableAffinity and onePerNode: Required exclude each other"
TOLERATION_SECONDS: Final = "tolerationSeconds needs the effect NoExecute"
TOLERATION_KEY: Final = "a toleration without a key needs the operator Exists"
TOLERATION_VALUE: Final = "a toleration with the operator Exists has no value"
CLAIM_SOURCE: Final = "a claim has exactly one of resourceClaimName and resourceClaimTemplateName"
CLAIM_UNKNOWN: Final = "no claim of this name in pod.resourceClaims"
STATE_SOURCE: Final = "stateVolume has exactly one of claimName and hostPath"
HOSTLIST_AND_CLUSTERS: Final = "hostlist and clusters exclude each other"
LEAD_BROKER: Final = "a leadBroker needs an address, a name and a size"
BURSTING_HOSTS: Final = (
    "bursting needs hosts that may join: name them in flux.bursting.clusters, or in flux.bursting.hostlist;"
    " with join: false it needs none"
)
BURSTING_AND_LEAD: Final = (
    "bursting and flux.bursting.leadBroker exclude each other: who joins another lead has none to burst from"
)
LOST_BEFORE_FENCE: Final = (
    f"lostAfterSeconds must be at least {FENCE_MARGIN} more than fenceSeconds: brokers must have ended over"
    " there before their jobs restart"
)
REQUEST_ABOVE_LIMIT: Final = "the request is greater than the limit"
TOO_MANY_HOSTS: Final = f"a MiniCluster has at most {MAX_HOSTS} hosts, remote ones included"
GRANULARITY_PROFILE: Final = (
    "granularity needs a profile: brokers are cut by what the main job's tasks use most (cpu, memory, network"
    " or io)"
)
TOO_MANY_CORES: Final = f"a broker offers at most {MAX_CORES} cores"
TOO_MANY_GPUS: Final = f"a broker offers at most {MAX_GPUS} GPUs, slices included"
IMAGE_NAME: Final = "the name of an image has no spaces or line breaks"
OPEN_QUOTE: Final = "a quote is not closed, so that no shell can run this"
BAD_NAME: Final = "the name is not allowed; allowed is"
