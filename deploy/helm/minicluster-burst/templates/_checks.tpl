{{- /* What is needed, and what does not go together: each with what to do. */ -}}
{{- define "checks.values" -}}
{{- if not .Values.settings -}}
{{- fail "settings is needed: providers and budgets, as docs/bursting.md has them, such as --set settings.providers[0].name=research, or a file for --values" -}}
{{- end -}}
{{- $names := list -}}
{{- range .Values.kubeconfigs -}}
{{- if has .name $names -}}
{{- fail (printf "kubeconfigs: two are called %s; each needs a name of its own, which is a part of its path" .name) -}}
{{- end -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- if and .Values.tunnels.enabled (not .Values.kubeconfigs) -}}
{{- fail "tunnels.enabled needs kubeconfigs: by one of them a tunnel reaches the cluster of its burst" -}}
{{- end -}}
{{- if and .Values.metrics.serviceMonitor.enabled (not .Values.metrics.service) -}}
{{- fail "metrics.serviceMonitor.enabled needs metrics.service: a ServiceMonitor finds the pods through a Service" -}}
{{- end -}}
{{- end -}}

{{- /* That the operator is here. A cluster answers with a list, which may be empty; without one (`helm template`) there is none.
       Helm names this template where it may not list Deployments. */ -}}
{{- define "checks.operator, which clusterChecks=false leaves out" -}}
{{- $found := lookup "apps/v1" "Deployment" .Release.Namespace "" -}}
{{- if hasKey $found "items" -}}
{{- $operators := 0 -}}
{{- range $found.items -}}
{{- if eq (get (.metadata.labels | default dict) "app.kubernetes.io/name") "minicluster-operator" -}}
{{- $operators = add1 $operators -}}
{{- end -}}
{{- end -}}
{{- if not $operators -}}
{{- fail (printf "there is no operator in namespace %s: MiniClusters admit this service only in the namespace of their operator, whose Secret minicluster-burst it needs. Install it there: `kubectl get deployments --all-namespaces --selector app.kubernetes.io/name=minicluster-operator` shows where that is. Nothing was changed" .Release.Namespace) -}}
{{- end -}}
{{- end -}}
{{- end -}}
