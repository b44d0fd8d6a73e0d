// Package check runs health checks: it decides when a probe is due, runs it with
// a bound on how many run at once, and turns results into states through
// thresholds. What a state means for a service, where it is kept and who is told
// belongs to package local.
//
// Every kind of probe is a file with a constructor in the table of kinds; TTL
// checks have no probe, only a deadline in the same schedule.
//
// Scheduler.Run owns all goroutines of the package: one that watches the clock
// and one for each probe while it runs.
package check
