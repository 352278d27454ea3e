{{- /* The name of everything in the release: the chart's alone where the release is called like it. */ -}}
{{- define "burst.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "burst.account" -}}
{{- .Values.serviceAccount.name | default (include "burst.name" .) -}}
{{- end -}}

{{- /* What finds the service's pods. The NetworkPolicies of MiniClusters admit them by the first of these labels. */ -}}
{{- define "burst.selector" -}}
app.kubernetes.io/name: minicluster-burst
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "burst.labels" -}}
{{ include "burst.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: flux-framework
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "burst.image" -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}

{{- define "burst.claim" -}}
{{- .Values.database.sqlite.existingClaim | default (printf "%s-database" (include "burst.name" .)) -}}
{{- end -}}
