{{- /*
What the operator may do with MiniClusters and what it makes of them: the rules of the ClusterRole, or of the
Role in each namespace. Nothing is granted that it does not use: a test compares this with the API server's
audit log.
*/ -}}
{{- define "operator.rules" -}}
# MiniClusters: it follows them; spec.cleanup has it delete one. By patch it writes their finalizers, and nothing else
# of them: no API server grants less for that (miniclusters/finalizers is no door to them).
- apiGroups: [flux-framework.org]
  resources: [miniclusters]
  verbs: [get, list, watch, patch, delete]
# It reports in their status and nowhere else.
- apiGroups: [flux-framework.org]
  resources: [miniclusters/status]
  verbs: [patch]
# It never sends this one: API servers with the admission plug-in OwnerReferencesPermissionEnforcement ask for it
# of whoever sets blockOwnerDeletion, as every object that a MiniCluster owns does.
- apiGroups: [flux-framework.org]
  resources: [miniclusters/finalizers]
  verbs: [update]
# The brokers' Job, by server-side apply (patch, and create for the first). The garbage collector deletes it.
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, watch, create, patch]
# Configuration and start script; host names of the brokers.
- apiGroups: [""]
  resources: [configmaps, services]
  verbs: [get, list, watch, create, patch]
# The services pod, deleted while its MiniCluster is suspended; the brokers' pods are only followed.
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, create, patch, delete]
# The certificates of brokers and leads. They are written once and never read: the one Secret that the operator may
# get is its own (door-rbac.yaml).
- apiGroups: [""]
  resources: [secrets]
  verbs: [create]
# Who may connect to the pods.
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [get, list, watch, create, patch]
# The lead broker is not evicted lightly.
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, create, patch]
# The autoscaler of a document that asks for one, deleted when it does not any more, or is suspended.
- apiGroups: [autoscaling]
  resources: [horizontalpodautoscalers]
  verbs: [get, list, watch, create, patch, delete]
# Why a pod does not come up: kubelets say so in Events alone. Listed for a pod that stays in ContainerCreating.
- apiGroups: [""]
  resources: [events]
  verbs: [list]
# What a person would ask about.
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create]
{{- end -}}

{{- /* What the metrics adapter follows in each namespace: whose metrics there are, and where the leads are. */ -}}
{{- define "adapter.rules" -}}
- apiGroups: [flux-framework.org]
  resources: [miniclusters]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [pods, services]
  verbs: [list, watch]
{{- end -}}

{{- /* The names of all metrics that are served, as docs/metrics.md lists them: a test compares. */ -}}
{{- define "adapter.metricNames" -}}
- flux_nodes_demanded
- flux_nodes_demanded_floor
- flux_nodes_demanded_ceiling
- flux_nodes_expected
- flux_nodes_up
- flux_nodes_free
- flux_nodes_allocated
- flux_nodes_drained
- flux_cores_expected
- flux_cores_up
- flux_cores_free
- flux_cores_allocated
- flux_cores_drained
- flux_jobs
- flux_jobs_pending
- flux_jobs_running
- flux_jobs_held
- flux_jobs_unsatisfiable
- flux_oldest_wait_seconds
- flux_demand_core_seconds
- flux_min_size
- flux_max_size
- flux_queue_nodes_demanded
- flux_queue_jobs
- flux_queue_jobs_pending
- flux_queue_jobs_running
- flux_queue_jobs_held
- flux_queue_jobs_unsatisfiable
- flux_queue_oldest_wait_seconds
- flux_queue_demand_core_seconds
- flux_group_nodes_allocated
- flux_group_jobs_pending
- flux_group_jobs_running
- flux_group_oldest_wait_seconds
- flux_group_demand_core_seconds
{{- end -}}
