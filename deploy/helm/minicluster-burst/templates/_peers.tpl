{{- /* Peers in NetworkPolicies of the service's pod and of those of tunnels. */ -}}
{{- define "burst.leads" -}}
- podSelector:
    matchLabels:
      app.kubernetes.io/name: minicluster
      app.kubernetes.io/component: broker
  {{- with .Values.watchNamespaces }}
  namespaceSelector:
    matchExpressions:
      - key: kubernetes.io/metadata.name
        operator: In
        values:
          {{- toYaml . | nindent 10 }}
  {{- else }}
  namespaceSelector: {}
  {{- end }}
{{- end -}}

{{- define "burst.dnsAndApiServers" -}}
# DNS, which may be on the node itself
- ports:
    - port: 53
      protocol: UDP
    - port: 53
      protocol: TCP
# API servers, this cluster's and those of providers: they are no pods that a selector could name
- ports:
    {{- range $.Values.networkPolicy.apiServerPorts }}
    - port: {{ . }}
      protocol: TCP
    {{- end }}
  {{- with $.Values.networkPolicy.apiServers }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
