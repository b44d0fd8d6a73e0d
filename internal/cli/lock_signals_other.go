//go:build !unix

package cli

import "os"

// handedOn is empty where there are no such signals; the interrupt, which must not be
// lost, stands for them so that the list is never the one of all signals.
var handedOn = []os.Signal{os.Interrupt}
