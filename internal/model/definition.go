package model

import "time"

// ServiceDefinition is what an operator or program registers at an agent: an
// instance and the checks that the agent runs for it.
type ServiceDefinition struct {
	Service Service // Node and Indexes are empty; RegisteredAt is set by the agent
	Checks  []*CheckDefinition
	Token   string // used for writes to the catalog on its behalf
	// Sidecar is the definition nested in Connect.SidecarService, completed with
	// its defaults; nil if none.
	Sidecar *ServiceDefinition
}

// CheckDefinition is a check that an agent runs. Exactly one kind of probe is
// set; validation happens where definitions enter (HTTP, files).
type CheckDefinition struct {
	ID        string
	Name      string
	Notes     string
	ServiceID string
	Token     string
	Status    string // initial state; empty: critical

	// One of these.
	HTTP              string // URL
	TCP               string // host:port
	UDP               string // host:port
	GRPC              string // host:port[/service]
	H2PING            string // host:port
	TTL               time.Duration
	ScriptArgs        []string
	AliasNode         string
	AliasService      string
	OSService         string
	DockerContainerID string

	Shell            string
	Method           string
	Header           map[string][]string
	Body             string
	Interval         time.Duration
	Timeout          time.Duration
	TLSServerName    string
	TLSSkipVerify    bool
	TCPUseTLS        bool
	GRPCUseTLS       bool
	H2PingUseTLS     bool
	DisableRedirects bool
	OutputMaxSize    int
	ExposedPort      int
	ProxyHTTP        string
	ProxyGRPC        string

	SuccessBeforePassing   int // consecutive successes before passing; 0 and 1: at once
	FailuresBeforeWarning  int // 0: same as FailuresBeforeCritical
	FailuresBeforeCritical int // 0 and 1: at once

	DeregisterCriticalServiceAfter time.Duration // 0: never
}

// Type is the name of the check's kind as clients see it.
func (d *CheckDefinition) Type() string {
	switch {
	case d.HTTP != "":
		return "http"
	case d.TCP != "":
		return "tcp"
	case d.UDP != "":
		return "udp"
	case d.GRPC != "":
		return "grpc"
	case d.H2PING != "":
		return "h2ping"
	case d.DockerContainerID != "":
		return "docker"
	case len(d.ScriptArgs) > 0:
		return "script"
	case d.AliasNode != "" || d.AliasService != "":
		return "alias"
	case d.OSService != "":
		return "os_service"
	case d.TTL > 0:
		return "ttl"
	}
	return ""
}
