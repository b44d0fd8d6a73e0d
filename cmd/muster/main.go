// Command muster is the whole of Muster: the agent and the commands that talk to
// one. It does the same under the name consul.
package main

import (
	"os"

	"github.com/muster-discovery/muster/internal/cli"
)

func main() {
	os.Exit(cli.Run(os.Args[1:], os.Stdout, os.Stderr))
}
