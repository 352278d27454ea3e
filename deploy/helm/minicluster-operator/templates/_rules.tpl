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
# What all MiniClusters of a namespace share: no garbage collector deletes it after the last one.
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [minicluster-flux-files]
  verbs: [delete]
# The services pod, deleted while its MiniCluster is suspended; the brokers' pods are only followed.
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, create, patch, delete]
# The certificates of brokers and leads, and tokens for single purposes, which are replaced by delete and create. None is
# ever read: the one Secret that the operator may get is its own (door-rbac.yaml).
- apiGroups: [""]
  resources: [secrets]
  verbs: [create, delete]
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
# Created: what a person would ask about.
- apiGroups: [""]
  resources: [events]
  verbs: [list, create]
# An operator of 0.1.0 creates them there, and runs on under these rules until an upgrade has replaced it.
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
