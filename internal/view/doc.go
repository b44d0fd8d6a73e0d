// Package view keeps what readers and watchers ask for ready to send: for each
// topic somebody is interested in, the items in their stable order, and the
// frames (JSON bodies, packed DNS records) that encoders made from them, each made
// once and shared by everybody whose question it fits. A change costs what
// changed, not what is stored, and not once for every watcher.
//
// It is not a store: truth is in the Source, and a view may be dropped at any
// time. It decides no permissions; lookup does.
//
// The Hub owns the views. Publish and reads may be called from any goroutine.
// One short goroutine for each view that is touched while somebody waits rebuilds
// it and wakes the waiters; Run, if it is running, expires what nobody uses.
package view
