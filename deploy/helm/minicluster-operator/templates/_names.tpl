{{- /* The name of everything in the release: the chart's alone where the release is called like it. */ -}}
{{- define "operator.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "operator.account" -}}
{{- .Values.serviceAccount.name | default (include "operator.name" .) -}}
{{- end -}}

{{- /* What finds the operator's pods. The NetworkPolicies of MiniClusters admit it by the first of these labels. */ -}}
{{- define "operator.selector" -}}
app.kubernetes.io/name: minicluster-operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "operator.labels" -}}
{{ include "operator.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: flux-framework
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- /* The metrics adapter's name, and what finds its pods; MiniClusters' NetworkPolicies admit it by the first label. */ -}}
{{- define "adapter.name" -}}
{{- printf "%s-adapter" (include "operator.name" .) -}}
{{- end -}}

{{- define "adapter.selector" -}}
app.kubernetes.io/name: minicluster-metrics-adapter
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "adapter.labels" -}}
{{ include "adapter.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: flux-framework
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}
