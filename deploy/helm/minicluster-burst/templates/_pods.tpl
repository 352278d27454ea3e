{{- /* What the service's pod and those of tunnels have in common: where they run, as whom, and the kubeconfigs. */ -}}
{{- define "burst.podSettings" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  # Files of Secrets are readable, and the volume of SQLite writable, for this group.
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "burst.containerSettings" -}}
image: {{ include "burst.image" . | quote }}
{{- with .Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end -}}

{{- define "burst.tmpVolume" -}}
# Certificates and keys of kubeconfigs become files there, as TLS reads them: in memory, never on a disk.
- name: tmp
  emptyDir:
    medium: Memory
    sizeLimit: 16Mi
{{- end -}}

{{- define "burst.kubeconfigMounts" -}}
{{- range .Values.kubeconfigs }}
# The whole folder: a file by subPath would stay as it was when the kubeconfig is renewed.
- name: kubeconfig-{{ .name }}
  mountPath: /etc/minicluster-burst/kubeconfigs/{{ .name }}
  readOnly: true
{{- end }}
{{- end -}}

{{- define "burst.kubeconfigVolumes" -}}
{{- range .Values.kubeconfigs }}
- name: kubeconfig-{{ .name }}
  secret:
    secretName: {{ .secret }}
    defaultMode: 0400
    items:
      - key: kubeconfig
        path: kubeconfig
{{- end }}
{{- end -}}

{{- /* What finds the pods of tunnels. The NetworkPolicies of MiniClusters admit them by the first of these labels. */ -}}
{{- define "burst.tunnelSelector" -}}
app.kubernetes.io/name: minicluster-burst-tunnel
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- /* The pod of a tunnel, of which the service makes one for each burst: it adds the command, and leaves out the kubeconfigs of
       other providers. */ -}}
{{- define "burst.tunnelPod" -}}
metadata:
  labels:
    {{- $own := dict "app.kubernetes.io/part-of" "flux-framework" "app.kubernetes.io/managed-by" "minicluster-burst" -}}
    {{- merge (include "burst.tunnelSelector" . | fromYaml) $own .Values.podLabels | toYaml | nindent 4 }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- include "burst.podSettings" . | trim | nindent 2 }}
  containers:
    - name: tunnel
      {{- include "burst.containerSettings" . | nindent 6 }}
      {{- with .Values.tunnels.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        - name: tmp
          mountPath: /tmp
        {{- include "burst.kubeconfigMounts" . | trim | nindent 8 }}
  volumes:
    {{- include "burst.tmpVolume" . | nindent 4 }}
    {{- include "burst.kubeconfigVolumes" . | trim | nindent 4 }}
{{- end -}}
