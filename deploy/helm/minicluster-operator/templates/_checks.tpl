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
{{- range (lookup "apps/v1" "Deployment" $namespace "").items -}}
{{- $labels := .metadata.labels | default dict -}}
{{- if and (eq (get $labels "app.kubernetes.io/name") "minicluster-operator") (eq (get $labels "app.kubernetes.io/instance") $release) -}}
{{- $beside := "For a second operator beside it, with namespaces of its own: --set 'watchNamespaces={...},crd.install=false,userRoles=false,metricsAdapter.enabled=false'" -}}
{{- if eq (include "checks.namespaces" .) "all namespaces" -}}
{{- $beside = "It has all namespaces: a second operator beside it needs that one to have fewer (docs/installation.md, \"Two operators in one cluster\")" -}}
{{- end -}}
{{- fail (printf "release %s in namespace %s has the CustomResourceDefinition already, and its operator is there. %s. To have this one in its place: %s, then repeat this with --take-ownership (MiniClusters stay)" $release $namespace $beside (include "checks.uninstall" .)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* What an operator's Deployment runs: "all namespaces", or "team-a, team-b". */ -}}
{{- define "checks.namespaces" -}}
{{- $arguments := (first .spec.template.spec.containers).args | default list -}}
{{- $found := list -}}
{{- range $arguments -}}
{{- if hasPrefix "--namespace=" . -}}
{{- $found = append $found (trimPrefix "--namespace=" .) -}}
{{- end -}}
{{- end -}}
{{- ternary "all namespaces" (join ", " $found) (has "--all-namespaces" $arguments) -}}
{{- end -}}

{{- /* The command that uninstalls an operator's Deployment. Its annotation may outlive its release, and who asks may not read releases. */ -}}
{{- define "checks.uninstall" -}}
{{- $release := get (.metadata.annotations | default dict) "meta.helm.sh/release-name" -}}
{{- if $release -}}
{{- printf "helm uninstall %s --namespace %s (if `helm list --namespace %s` has no such release: kubectl delete deployment %s --namespace %s)" $release .metadata.namespace .metadata.namespace .metadata.name .metadata.namespace -}}
{{- else -}}
kubectl delete -f with the manifest that it was applied from (deploy/manifests/install.yaml)
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

{{- /* Another release's operator for the same namespaces: with a Lease each, both would work, and undo each other's work.
       Helm names this template where it may not list Deployments. */ -}}
{{- define "checks.others, which clusterChecks=false leaves out" -}}
{{- $watched := .Values.watchNamespaces -}}
{{- $mine := printf "%s/%s" .Release.Namespace (include "operator.name" .) -}}
{{- range (lookup "apps/v1" "Deployment" "" "").items -}}
{{- $name := get (.metadata.labels | default dict) "app.kubernetes.io/name" -}}
{{- $reference := printf "%s/%s" .metadata.namespace .metadata.name -}}
{{- if and (eq $name "minicluster-operator") (ne $reference $mine) -}}
{{- $theirs := include "checks.namespaces" . -}}
{{- $both := list -}}
{{- range $watched -}}
{{- if or (eq $theirs "all namespaces") (has . (splitList ", " $theirs)) -}}
{{- $both = append $both . -}}
{{- end -}}
{{- end -}}
{{- if or $both (not $watched) -}}
{{- $mend := "Set watchNamespaces to namespaces that no other operator has (--set 'watchNamespaces={...}')" -}}
{{- if eq $theirs "all namespaces" -}}
{{- $mend = "That one has all: let it have fewer first, by watchNamespaces of its release, and this one others" -}}
{{- end -}}
{{- fail (printf "Deployment %s is an operator that runs MiniClusters in %s, as this one would: they would undo each other's work. %s; or uninstall that one (MiniClusters stay): %s" $reference (ternary (join ", " $both) $theirs (not (empty $both))) $mend (include "checks.uninstall" .)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Namespaces to watch that are not there: Helm itself would stop amid its work, at a Role. Its own it may make. */ -}}
{{- define "checks.watched, which clusterChecks=false leaves out" -}}
{{- $there := list .Release.Namespace -}}
{{- range (lookup "v1" "Namespace" "" "").items -}}
{{- $there = append $there .metadata.name -}}
{{- end -}}
{{- $absent := list -}}
{{- range .Values.watchNamespaces -}}
{{- if not (has . $there) -}}
{{- $absent = append $absent . -}}
{{- end -}}
{{- end -}}
{{- /* A cluster has namespaces; without one (`helm template`) none are found. */ -}}
{{- if and $absent (gt (len $there) 1) -}}
{{- fail (printf "watchNamespaces: there is no namespace %s. Make it first (kubectl create namespace %s), or correct its name. Nothing was changed" (join ", " $absent) (first $absent)) -}}
{{- end -}}
{{- end -}}
