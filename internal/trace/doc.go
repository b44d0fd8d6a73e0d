// Package trace records what one lookup went through, for whoever asked to have
// it explained. The recorder travels in the context and costs next to nothing when
// there is none. It starts no goroutine.
package trace
