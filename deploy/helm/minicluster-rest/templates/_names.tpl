{{- /* The name of everything in the release: the chart's alone where the release is called like it. */ -}}
{{- define "rest.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "rest.account" -}}
{{- .Values.serviceAccount.name | default (include "rest.name" .) -}}
{{- end -}}

{{- /* What finds the service's pods. The NetworkPolicies of MiniClusters admit them by the first of these labels. */ -}}
{{- define "rest.selector" -}}
app.kubernetes.io/name: minicluster-rest
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "rest.labels" -}}
{{ include "rest.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: flux-framework
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "rest.image" -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}

{{- /* The name of the port that users reach, by what is spoken there. */ -}}
{{- define "rest.scheme" -}}
{{- ternary "https" "http" (ne .Values.tls.secretName "") -}}
{{- end -}}

{{- /* The name in `url`, for an Ingress or an HTTPRoute. */ -}}
{{- define "rest.host" -}}
{{- (urlParse .Values.url).hostname -}}
{{- end -}}

{{- define "rest.claim" -}}
{{- .Values.database.sqlite.existingClaim | default (printf "%s-database" (include "rest.name" .)) -}}
{{- end -}}
