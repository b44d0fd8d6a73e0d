package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strconv"
	"syscall"

	"github.com/muster-discovery/muster/internal/config"
	"github.com/muster-discovery/muster/internal/dnsapi"
	"github.com/muster-discovery/muster/internal/httpapi"
	"github.com/muster-discovery/muster/internal/limit"
	"github.com/muster-discovery/muster/internal/rpc"
)

// listen opens the edges' ports. All are open before New returns, so that a port
// that is taken is an error of the start.
func (a *Agent) listen() error {
	hc, err := httpConfig(a.cfg, a.tel)
	if err != nil {
		return err
	}
	if err := a.node.openStreams(a.tel); err != nil {
		return err
	}
	hc.Consumers = a.node.streams.consumers
	hc.Lookup, hc.Catalog, hc.Local, hc.Agent = a.node.lookup, a.node.apply, a.local, a
	hc.Keys, hc.Txns, hc.Histories = a.node.apply, a.node.lookup, a.node.lookup
	hc.Queries = queries{a.node.apply, a.node.lookup}
	hc.Events, hc.Coordinates = a.node.events, coordinates{a.node.apply, a.node}
	hc.Operator, hc.Keyring = operator{a.server}, keyring{a.node.pools, a.cfg.Node.Datacenter}
	hc.Accusations, hc.ComesBack = a.accusations, a.comesBack
	pass := newPassing(a.node.addressOf, a.role.answers, a.role.unreachable, a.cfg.RPC.HoldTimeout)
	pass.admit = a.node.limits.RPC.Admit
	a.group.onStop("connections for passed requests", pass.Close)
	hc.Elsewhere = pass
	hc.Requests, hc.Gate = requests{a.node.limits}, a.node.limits.Snapshots
	a.node.events.services.Store(eventServices(a.local.Services))
	if a.server != nil {
		hc.Snapshots = a.server.snapshots
	}
	if a.http, err = httpapi.New(hc); err != nil {
		return err
	}
	if a.server != nil {
		a.servePassed(a.server.mux.Listener(rpc.KindHTTP))
	}
	for _, e := range a.cfg.Listen.HTTP {
		if err := a.serveHTTP(e); err != nil {
			return err
		}
	}
	if err := a.serveGRPC(); err != nil {
		return err
	}
	if len(a.cfg.Listen.HTTPS) > 0 {
		a.log.Warn("HTTPS is configured, but this version does not serve it yet")
	}
	if len(a.cfg.Listen.DNS) == 0 {
		return nil
	}
	dc := dnsConfig(a.cfg, a.tel)
	dc.Lookup, dc.Queries = a.node.lookup, a.node.lookup
	if a.dns, err = dnsapi.New(dc); err != nil {
		return err
	}
	if err := a.dns.Listen(); err != nil {
		return err
	}
	a.group.start("dns", a.dns.Run)
	return nil
}

func (a *Agent) serveHTTP(e config.Endpoint) error {
	l, err := listenOn(e, a.cfg.Addresses)
	if err != nil {
		return err
	}
	log := a.tel.Logger("http")
	limited := limit.Listener(l, a.node.limits.HTTPConns, httpapi.RefuseConn)
	sc := httpapi.DefaultServerConfig()
	sc.Logger = log
	if a.cfg.HTTP.MaxHeaderBytes > 0 {
		sc.MaxHeaderBytes = a.cfg.HTTP.MaxHeaderBytes
	}
	srv := httpapi.NewServer(a.http, sc)
	a.serveOn("http "+e.String(), srv, limited)
	return nil
}

// serveOn runs an HTTP server as a part of the agent.
func (a *Agent) serveOn(part string, srv *http.Server, l net.Listener) {
	a.group.start(part, func(ctx context.Context) error {
		done := make(chan error, 1)
		go func() { done <- srv.Serve(l) }()
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			// Blocking queries would hold an orderly shutdown up for minutes.
			srv.Close()
			<-done
			return nil
		}
	})
}

// listenOn opens a TCP port or a Unix socket.
func listenOn(e config.Endpoint, addrs config.Addresses) (net.Listener, error) {
	if e.Network != "unix" {
		l, err := net.Listen("tcp", e.Address)
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("HTTP address %s is in use: stop the other process (is an agent running already?) or choose another with ports.http or -http-port", e.Address)
		}
		if err != nil {
			return nil, fmt.Errorf("listen for HTTP: %w", err)
		}
		return l, nil
	}
	// A socket that a killed agent left behind is in the way; anything else that
	// has the name is not ours to remove.
	if info, err := os.Lstat(e.Address); err == nil {
		if info.Mode()&fs.ModeSocket == 0 {
			return nil, fmt.Errorf("HTTP address %s: a file that is no socket is there; move it or choose another path", e)
		}
		if err := os.Remove(e.Address); err != nil {
			return nil, fmt.Errorf("remove the old socket %s: %w", e.Address, err)
		}
	}
	l, err := net.Listen("unix", e.Address)
	if err != nil {
		return nil, fmt.Errorf("listen for HTTP on %s: %w", e, err)
	}
	if addrs.SocketMode != "" {
		mode, err := strconv.ParseUint(addrs.SocketMode, 8, 32)
		if err == nil {
			err = os.Chmod(e.Address, fs.FileMode(mode))
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("unix_sockets.mode %q: %w", addrs.SocketMode, err), l.Close())
		}
	}
	return l, nil
}
