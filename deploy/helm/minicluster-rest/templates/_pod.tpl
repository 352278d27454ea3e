{{- /* What the service and its migration have in common: image, rights, and where the database is. */ -}}
{{- define "rest.container" -}}
image: {{ include "rest.image" . | quote }}
{{- with .Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
{{- with .Values.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end -}}

{{- /* No secret is in the environment: the URL of PostgreSQL is in a file. */ -}}
{{- define "rest.database" -}}
- name: MINICLUSTER_REST_DATABASE
  {{- if .Values.database.postgresql.secretName }}
  value: file:/etc/minicluster-rest/database/{{ .Values.database.postgresql.key }}
  {{- else }}
  value: sqlite:////var/lib/minicluster-rest/state/rest.db
# Where it sorts what does not fit into memory.
- name: SQLITE_TMPDIR
  value: /var/lib/minicluster-rest
  {{- end }}
{{- end -}}

{{- define "rest.databaseMount" -}}
- name: database
  {{- if .Values.database.postgresql.secretName }}
  mountPath: /etc/minicluster-rest/database
  readOnly: true
  {{- else }}
  mountPath: /var/lib/minicluster-rest
  {{- end }}
{{- end -}}
