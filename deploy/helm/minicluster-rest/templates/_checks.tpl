{{- /* What is needed, and what does not go together: each with what to do. */ -}}
{{- define "checks.values" -}}
{{- $postgresql := .Values.database.postgresql.secretName -}}
{{- $tls := .Values.tls.secretName -}}
{{- if not .Values.url -}}
{{- fail "url is needed: where users reach the service, such as --set url=https://mc.example.org" -}}
{{- end -}}
{{- if not .Values.masterKey.secretName -}}
{{- fail (printf "masterKey.secretName is needed: a Secret with 32 random bytes. `head -c 32 /dev/urandom > master.key`, `kubectl create secret generic minicluster-rest-master-key --namespace %s --from-file=master.key`, then --set masterKey.secretName=minicluster-rest-master-key" .Release.Namespace) -}}
{{- end -}}
{{- if not (or $tls .Values.behindProxy) -}}
{{- fail "tls.secretName or behindProxy is needed, or passwords and tokens would go over the network unencrypted: a Secret of type kubernetes.io/tls, or the addresses of the proxies that speak TLS with users" -}}
{{- end -}}
{{- if and (gt (int .Values.replicas) 1) (not $postgresql) -}}
{{- fail (printf "replicas: %d need PostgreSQL (database.postgresql.secretName): SQLite's file is one process's alone" (int .Values.replicas)) -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.behindProxy) -}}
{{- fail "ingress.enabled needs behindProxy, the addresses of the controller's pods: without it all users have the controller's address, and share the limits of one" -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (or $tls (not .Values.behindProxy)) -}}
{{- fail "httpRoute.enabled needs behindProxy, the addresses of the Gateway's pods, and no tls.secretName: a Gateway speaks plain HTTP with the service" -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) -}}
{{- fail "httpRoute.enabled needs httpRoute.parentRefs: the Gateway, such as [{name: public, namespace: gateways}]" -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled .Values.behindProxy (not .Values.networkPolicy.clients) -}}
{{- fail "networkPolicy.clients is needed with behindProxy: any other pod with one of these addresses could state whose request it sends (X-Forwarded-For). Name the proxies' pods, such as [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ingress-nginx}}}]; or set networkPolicy.enabled=false where a policy of your own admits them alone" -}}
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
{{- fail (printf "there is no operator in namespace %s: MiniClusters admit this service only in the namespace of their operator, whose Secret minicluster-jobs it needs. Install it there: `kubectl get deployments --all-namespaces --selector app.kubernetes.io/name=minicluster-operator` shows where that is. Nothing was changed" .Release.Namespace) -}}
{{- end -}}
{{- end -}}
{{- end -}}
