package cli

import (
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/muster-discovery/muster/internal/config"
	"github.com/muster-discovery/muster/internal/version"
)

// banner tells where everything listens, and with -dev what to try.
func banner(w io.Writer, cfg *config.Config) {
	role := "client"
	switch {
	case cfg.Dev:
		role = "development server, nothing is kept"
	case cfg.Server.Enabled:
		role = "server"
	}
	fmt.Fprintf(w, "==> Muster agent %s (%s)\n", version.Muster, role)
	l := cfg.Listen
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "    %-8s %s\n", name, value)
		}
	}
	line("Node", fmt.Sprintf("%s in %s", cfg.Node.Name, cfg.Node.Datacenter))
	line("HTTP", spaced(l.HTTP))
	line("HTTPS", spaced(l.HTTPS))
	line("DNS", spaced(l.DNS))
	line("Gossip", strings.TrimSpace(l.SerfLAN.String()+" "+l.SerfWAN.String()))
	line("RPC", l.Server.String())
	if cfg.Dev {
		try(w, cfg)
	}
	fmt.Fprintf(w, "==> The log follows\n")
}

func spaced(list []config.Endpoint) string {
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = e.String()
	}
	return strings.Join(out, " ")
}

// try prints commands that work as they stand.
func try(w io.Writer, cfg *config.Config) {
	fmt.Fprintf(w, "==> Try\n")
	if len(cfg.Listen.HTTP) > 0 {
		e := cfg.Listen.HTTP[0]
		if e.Network == "unix" {
			fmt.Fprintf(w, "    muster members -http-addr=%s\n", e)
			fmt.Fprintf(w, "    curl --unix-socket %s http://localhost/v1/catalog/services\n", e.Address)
		} else {
			addr := reachable(e)
			option := ""
			if addr != "127.0.0.1:8500" {
				option = " -http-addr=" + addr
			}
			fmt.Fprintf(w, "    muster services register%s -name=web -port=8080\n", option)
			fmt.Fprintf(w, "    curl http://%s/v1/catalog/service/web\n", addr)
		}
	}
	if len(cfg.Listen.DNS) > 0 {
		host, port, _ := net.SplitHostPort(reachable(cfg.Listen.DNS[0])) // made by JoinHostPort
		fmt.Fprintf(w, "    dig @%s -p %s web.service.%s SRV\n", host, port, strings.TrimSuffix(cfg.DNS.Domain, "."))
	}
}

// reachable is an address that can be dialed, for one that may mean all interfaces.
func reachable(e config.Endpoint) string {
	switch host := e.Host(); host {
	case "0.0.0.0":
		return fmt.Sprintf("127.0.0.1:%d", e.Port())
	case "::":
		return fmt.Sprintf("[::1]:%d", e.Port())
	}
	return e.Address
}
