// Command metrics-client asks for metrics with Kubernetes' own client library, as the autoscaler does.
//
//	metrics-client object KIND.GROUP NAMESPACE NAME METRIC [METRIC-SELECTOR]
//	metrics-client objects KIND.GROUP NAMESPACE SELECTOR METRIC
//	metrics-client namespace NAME METRIC
//	metrics-client external NAMESPACE METRIC [SELECTOR]
//
// It prints what it got as JSON; what went wrong as the reason of the error and its message, with exit code 1.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	custom "k8s.io/metrics/pkg/client/custom_metrics"
	external "k8s.io/metrics/pkg/client/external_metrics"
)

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	check(err)
	words := os.Args[1:]
	var found any
	switch words[0] {
	case "object":
		kind := schema.ParseGroupKind(words[1])
		found, err = customClient(config).NamespacedMetrics(words[2]).GetForObject(kind, words[3], words[4], selector(words, 5))
	case "objects":
		kind := schema.ParseGroupKind(words[1])
		found, err = customClient(config).NamespacedMetrics(words[2]).GetForObjects(kind, selector(words, 3), words[4], labels.Everything())
	case "namespace":
		kind := schema.GroupKind{Kind: "Namespace"}
		found, err = customClient(config).RootScopedMetrics().GetForObject(kind, words[1], words[2], labels.Everything())
	case "external":
		client, failed := external.NewForConfig(config)
		check(failed)
		found, err = client.NamespacedMetrics(words[1]).List(words[2], selector(words, 3))
	}
	check(err)
	check(json.NewEncoder(os.Stdout).Encode(found))
}

func customClient(config *rest.Config) custom.CustomMetricsClient {
	found, err := discovery.NewDiscoveryClientForConfig(config)
	check(err)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found))
	return custom.NewForConfig(config, mapper, custom.NewAvailableAPIsGetter(found))
}

func selector(words []string, place int) labels.Selector {
	if len(words) <= place {
		return labels.Everything()
	}
	found, err := labels.Parse(words[place])
	check(err)
	return found
}

func check(err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", errors.ReasonForError(err), err)
		os.Exit(1)
	}
}
