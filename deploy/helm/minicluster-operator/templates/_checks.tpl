{{- /* Another operator's CustomResourceDefinition, or another release's: Helm itself would not say what to do. */ -}}
{{- define "checks.definition" -}}
{{- $found := dict -}}
{{- if .Values.crd.install -}}
{{- $found = lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" "miniclusters.flux-framework.org" -}}
{{- end -}}
{{- if $found -}}
{{- $ours := false -}}
{{- range $found.spec.versions -}}
{{- $ours = or $ours (hasKey (dig "schema" "openAPIV3Schema" "properties" "status" "properties" dict .) "phase") -}}
{{- end -}}
{{- if not $ours -}}
{{- fail "CustomResourceDefinition miniclusters.flux-framework.org is another operator's (the reference Flux Operator's has that name). Delete its MiniClusters, uninstall that operator, then `kubectl delete crd miniclusters.flux-framework.org` if it is still there, and repeat this (docs/installation.md, \"In place of the reference operator\")" -}}
{{- end -}}
{{- $annotations := $found.metadata.annotations | default dict -}}
{{- $release := get $annotations "meta.helm.sh/release-name" -}}
{{- $namespace := get $annotations "meta.helm.sh/release-namespace" -}}
{{- if and $release (or (ne $release .Release.Name) (ne $namespace .Release.Namespace)) -}}
{{- if eq (include "checks.operators" (list $release $namespace)) "there" -}}
{{- fail (printf "release %s in namespace %s has the CustomResourceDefinition already, and its operator is there. For a second operator beside it, with namespaces of its own: --set 'watchNamespaces={...},crd.install=false,userRoles=false,metricsAdapter.enabled=false'. To have this one in its place: helm uninstall %s --namespace %s, then repeat this with --take-ownership (MiniClusters stay)" $release $namespace $release $namespace) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* "there" if a release has its operator; of a list of name and namespace. */ -}}
{{- define "checks.operators" -}}
{{- $release := first . -}}
{{- range (lookup "apps/v1" "Deployment" (last .) "").items -}}
{{- $labels := .metadata.labels | default dict -}}
{{- if and (eq (get $labels "app.kubernetes.io/name") "minicluster-operator") (eq (get $labels "app.kubernetes.io/instance") $release) -}}
there
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* An upgrade that leaves out a version which must come between. */ -}}
{{- define "checks.version" -}}
{{- $oldest := index .Chart.Annotations "flux-framework.org/upgrades-from" -}}
{{- $found := lookup "apps/v1" "Deployment" .Release.Namespace (include "operator.name" .) -}}
{{- $version := "" -}}
{{- if $found -}}
{{- $version = get ($found.metadata.labels | default dict) "app.kubernetes.io/version" -}}
{{- end -}}
{{- if and (regexMatch "^v?[0-9]+[.][0-9]+[.][0-9]+" $version) (semverCompare (printf "< %s-0" $oldest) $version) -}}
{{- fail (printf "%s %s is installed, and %s can take over from %s or a later version only. Upgrade to %s first, with its chart, and wait until its pods are ready; then repeat this (docs/installation.md, \"Upgrade\"). Nothing was changed" (include "operator.name" .) $version .Chart.Version $oldest $oldest) -}}
{{- end -}}
{{- end -}}

{{- /* Another release's operator for the same namespaces: with a Lease each, both would work, and undo each other's work. */ -}}
{{- define "checks.others" -}}
{{- $watched := .Values.watchNamespaces -}}
{{- $found := dict "items" list -}}
{{- /* Who installs for some namespaces only may not list Deployments elsewhere, and lookup would fail. */ -}}
{{- if or (not $watched) .Values.crd.install .Values.userRoles .Values.metricsAdapter.enabled -}}
{{- $found = lookup "apps/v1" "Deployment" "" "" -}}
{{- end -}}
{{- $mine := printf "%s/%s" .Release.Namespace (include "operator.name" .) -}}
{{- range $found.items -}}
{{- $name := get (.metadata.labels | default dict) "app.kubernetes.io/name" -}}
{{- $reference := printf "%s/%s" .metadata.namespace .metadata.name -}}
{{- if and (eq $name "minicluster-operator") (ne $reference $mine) -}}
{{- $arguments := (first .spec.template.spec.containers).args | default list -}}
{{- $both := list -}}
{{- range $watched -}}
{{- if or (has "--all-namespaces" $arguments) (has (printf "--namespace=%s" .) $arguments) -}}
{{- $both = append $both . -}}
{{- end -}}
{{- end -}}
{{- if or $both (not $watched) -}}
{{- fail (printf "Deployment %s is an operator that runs MiniClusters in %s, as this one would: they would undo each other's work. Set watchNamespaces to namespaces that no other operator has, in this release (--set 'watchNamespaces={...}') and in that one if it has all; or uninstall that one (MiniClusters stay)" $reference (ternary (join ", " $both) "all namespaces or some of them" (not (empty $both)))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
