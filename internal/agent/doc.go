// Package agent builds one agent from its configuration, runs the parts and stops
// them. It is where interfaces that lower packages declare meet what fulfils
// them; it decides nothing about catalog, health or lookups.
//
// New builds, Run serves until its context ends. Every part's goroutine runs in
// one group, which starts them in the order of their dependence and stops them in
// the reverse one, each with a bound.
package agent
