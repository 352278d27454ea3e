// Command metrics-server tells what pods and nodes of the test cluster use.
package main

import (
	"os"

	"k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/logs"
	"sigs.k8s.io/metrics-server/cmd/metrics-server/app"
)

func main() {
	logs.InitLogs()
	defer logs.FlushLogs()
	if app.NewMetricsServerCommand(server.SetupSignalHandler()).Execute() != nil { // it has said why
		os.Exit(1)
	}
}
