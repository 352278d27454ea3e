"""The work of Job controller, scheduler and kubelets, as single steps that a test takes."""

from minicluster.kube_client.objects import ObjectReference
from minicluster.plan.constants import LABEL_POD_INDEX
from tests.operator.field_sets import Object
from tests.operator.memory_store import Store

CONTROLLER = "kube-controller-manager"
KUBELET = "kubelet"
LABEL_CONTROLLER = "batch.kubernetes.io/controller-uid"
LABEL_JOB = "batch.kubernetes.io/job-name"


def start_job(store: Store, namespace: str, name: str) -> None:
    """Bring a Job's pods in line with it, and its status in line with them; nothing once it has ended."""
    job = store.read(ObjectReference("Job", namespace, name))
    if has_ended(job):
        return
    spec = job["spec"]
    wanted = 0 if spec.get("suspend") else spec["parallelism"]
    there = {index_of(pod): pod for pod in pods(store, job) if pod["status"]["phase"] != "Failed"}
    for index, pod in there.items():
        if index >= wanted:
            store.delete(ObjectReference("Pod", namespace, pod["metadata"]["name"]))
    for index in sorted(set(range(wanted)) - set(there)):
        _make_pod(store, job, index)
    _write_status(store, job, _status_of(store, job, wanted))


def run_pod(store: Store, namespace: str, name: str, index: int) -> None:
    """Schedule a Job's pod and have it run."""
    reference = _pod_reference(store, namespace, name, index)
    store.patch(reference, {"spec": {"nodeName": f"node-{index}"}}, "kube-scheduler", "binding")
    running = [{"name": _runner(store, reference), "ready": True, "state": {"running": {}}}]
    status = {"phase": "Running", "podIP": f"10.0.0.{index + 1}", "containerStatuses": running}
    store.patch(reference, {"status": status}, KUBELET, "status")


def end_pod(store: Store, namespace: str, name: str, index: int, code: int, message: str = "") -> None:
    """End the runner of a Job's pod with a code, and a termination message."""
    reference = _pod_reference(store, namespace, name, index)
    how = {"reason": "Error" if code else "Completed", "finishedAt": store.clock.text()}
    state = {"terminated": {"exitCode": code, "message": message, **how}}
    ended = [{"name": _runner(store, reference), "ready": False, "state": state}]
    phase = "Failed" if code else "Succeeded"
    store.patch(reference, {"status": {"phase": phase, "containerStatuses": ended}}, KUBELET, "status")


def complete_job(store: Store, namespace: str, name: str) -> None:
    """Have a Job succeed, as it does by its success policy."""
    met = "Matched rules at index 0"
    types = ("SuccessCriteriaMet", "Complete")
    conditions = [_condition(store, type_, "SuccessPolicy", met) for type_ in types]
    status = {"conditions": conditions, "active": 0, "succeeded": 1, "completionTime": store.clock.text()}
    _end(store, namespace, name, status)


def fail_job(store: Store, namespace: str, name: str, code: int) -> None:
    """Have a Job fail by its pod failure policy: its lead ended with this code."""
    pod = _pod_reference(store, namespace, name, 0)
    about = f"Container {_runner(store, pod)} for pod {namespace}/{pod.name} failed with exit code {code}"
    message = f"{about} matching FailJob rule at index 2"
    types = ("FailureTarget", "Failed")
    conditions = [_condition(store, type_, "PodFailurePolicy", message) for type_ in types]
    _end(store, namespace, name, {"conditions": conditions, "active": 0, "failed": 1})


def pods(store: Store, job: Object) -> list[Object]:
    """Return a Job's pods."""
    uid, namespace = job["metadata"]["uid"], job["metadata"]["namespace"]
    return store.find("Pod", namespace, f"{LABEL_CONTROLLER}={uid}")


def index_of(pod: Object) -> int:
    """Return a pod's index."""
    return int(pod["metadata"]["labels"][LABEL_POD_INDEX])


def has_ended(job: Object) -> bool:
    """Whether a Job has succeeded or failed."""
    conditions = job.get("status", {}).get("conditions", ())
    return any(each["type"] in {"Complete", "Failed"} for each in conditions)


def _make_pod(store: Store, job: Object, index: int) -> None:
    metadata, template = job["metadata"], job["spec"]["template"]
    about = template.get("metadata", {})
    marks = {LABEL_CONTROLLER: metadata["uid"], LABEL_JOB: metadata["name"], LABEL_POD_INDEX: str(index)}
    owner = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{metadata['name']}-{index}-{store.history.version:05x}",
            "namespace": metadata["namespace"],
            "labels": {**about.get("labels", {}), **marks},
            "annotations": {**about.get("annotations", {}), LABEL_POD_INDEX: str(index)},
            "ownerReferences": [owner],
        },
        "spec": template["spec"],
    }
    made = store.create(pod, CONTROLLER)
    reference = ObjectReference("Pod", metadata["namespace"], made["metadata"]["name"])
    store.patch(reference, {"status": {"phase": "Pending"}}, KUBELET, "status")


def _status_of(store: Store, job: Object, wanted: int) -> Object:
    """Return a Job's status; condition Suspended shows that it is suspended, or was resumed."""
    known = job.get("status", {})
    conditions = list(known.get("conditions", ()))
    suspended = bool(job["spec"].get("suspend"))
    if suspended and not _is_suspended(known):
        conditions = [_condition(store, "Suspended", "JobSuspended", "Job suspended")]
    elif _is_suspended(known) and not suspended:
        conditions = [_condition(store, "Suspended", "JobResumed", "Job resumed", "False")]
    began = None if suspended else known.get("startTime") or store.clock.text()
    return {"active": wanted or None, "startTime": began, "conditions": conditions or None}


def _is_suspended(status: Object) -> bool:
    return any(each["status"] == "True" for each in status.get("conditions", ()))


def _end(store: Store, namespace: str, name: str, status: Object) -> None:
    job = store.read(ObjectReference("Job", namespace, name))
    for pod in pods(store, job):
        if pod["status"]["phase"] in {"Pending", "Running"}:
            store.delete(ObjectReference("Pod", namespace, pod["metadata"]["name"]))
    _write_status(store, job, status)


def _write_status(store: Store, job: Object, status: Object) -> None:
    reference = ObjectReference("Job", job["metadata"]["namespace"], job["metadata"]["name"])
    store.patch(reference, {"status": status}, CONTROLLER, "status")


def _pod_reference(store: Store, namespace: str, name: str, index: int) -> ObjectReference:
    found = [
        pod
        for pod in pods(store, store.read(ObjectReference("Job", namespace, name)))
        if index_of(pod) == index
    ]
    if not found:
        raise LookupError(f"Job {name} has no pod of index {index}")
    return ObjectReference("Pod", namespace, found[-1]["metadata"]["name"])


def _runner(store: Store, pod: ObjectReference) -> str:
    return str(store.read(pod)["spec"]["containers"][0]["name"])


def _condition(store: Store, type_: str, reason: str, message: str, status: str = "True") -> Object:
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastProbeTime": store.clock.text(),
        "lastTransitionTime": store.clock.text(),
    }
