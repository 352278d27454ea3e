// Command containerd-shim-runc-v2 is the parent of one pod's containers: they outlive containerd. It is a
// program of its own, as the plug-ins that are linked into containerd would be started in it.
package main

import (
	"context"

	"github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2/manager"
	"github.com/containerd/containerd/v2/pkg/shim"

	_ "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2/task/plugin" // the service itself
)

func main() {
	shim.RunShim(context.Background(), manager.NewShimManager("io.containerd.runc.v2"))
}
