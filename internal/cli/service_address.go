package cli

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/hashicorp/consul/api"
)

// serviceAddress reads address or address:port; without a port it is the service's.
func serviceAddress(text string, port int) (api.ServiceAddress, error) {
	host, p, err := net.SplitHostPort(text)
	if err != nil {
		bare := strings.Trim(text, "[]")
		if strings.Contains(text, ":") && net.ParseIP(bare) == nil {
			return api.ServiceAddress{}, fmt.Errorf("%q: want address:port", text)
		}
		return api.ServiceAddress{Address: bare, Port: port}, nil
	}
	n, err := strconv.Atoi(p)
	if err != nil || n < 0 || n > 65535 {
		return api.ServiceAddress{}, fmt.Errorf("%q: port %q is no port", text, p)
	}
	return api.ServiceAddress{Address: host, Port: n}, nil
}
