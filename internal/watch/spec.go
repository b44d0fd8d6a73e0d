package watch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Spec is one watch: what it looks at, and whom it tells.
type Spec struct {
	Type       string
	Datacenter string // "": the agent's own
	Token      string // "": as a request without one

	Key, Prefix        string
	Service, ServiceID string
	Tags               []string
	PassingOnly        bool
	Name               string // of events
	State              string // of checks
	Filter             string
	Stale              bool

	// Args or Shell are the handler's program, HTTP its address. All are empty for
	// the command watch, which brings its own.
	Args    []string
	Shell   string // a command line for a shell
	HTTP    *HTTPConfig
	Timeout time.Duration // of one run of the program

	handlerType string
	id          string // equal for watches that are the same
}

// HTTPConfig is an address that is told.
type HTTPConfig struct {
	URL, Method   string
	Header        map[string][]string
	Timeout       time.Duration
	TLSSkipVerify bool
}

// DefaultTimeout bounds one run of a program that sets no handler_timeout: long
// enough for a deployment, and a program that hangs is not for ever.
const DefaultTimeout = 10 * time.Minute

// Decode reads an element of the key watches. The error has all mistakes.
func Decode(data []byte) (*Spec, error) {
	params := map[string]any{}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&params); err != nil {
		return nil, err
	}
	s, err := Parse(params)
	if err != nil {
		return nil, err
	}
	if err := s.needHandler(); err != nil {
		return nil, err
	}
	canonical, err := json.Marshal(params) // keys are sorted
	if err != nil {
		return nil, err
	}
	s.id = string(canonical)
	return s, nil
}

// Parse reads parameters by their names in configuration files. The error has all
// mistakes.
func Parse(params map[string]any) (*Spec, error) {
	s := &Spec{Timeout: DefaultTimeout}
	var errs []error
	if err := set(s, "type", params["type"]); err != nil {
		return nil, err
	}
	kind, known := kinds[s.Type]
	switch {
	case s.Type == "":
		return nil, errors.New("type is missing")
	case !known:
		return nil, fmt.Errorf("type %q is unknown; want one of %s", s.Type, strings.Join(Types(), ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		switch {
		case parameters[name] == nil:
			errs = append(errs, fmt.Errorf("%s: unknown key", name))
		case !slices.Contains(common, name) && !slices.Contains(kind.takes, name):
			errs = append(errs, fmt.Errorf("%s: not for watches of type %s", name, s.Type))
		default:
			if err := set(s, name, params[name]); err != nil {
				errs = append(errs, err)
			}
		}
	}
	if n := kind.needs; n != "" && (params[n] == nil || params[n] == "") {
		errs = append(errs, fmt.Errorf("%s is missing: watches of type %s need it", n, s.Type))
	}
	if s.Type == "checks" && s.Service != "" && s.State != "" {
		errs = append(errs, errors.New("service and state can't be used together"))
	}
	return s, errors.Join(errs...)
}

// Types are the types of watches, sorted.
func Types() []string { return slices.Sorted(maps.Keys(kinds)) }

// needHandler checks that the watch tells exactly one.
func (s *Spec) needHandler() error {
	given := 0
	for _, is := range []bool{len(s.Args) > 0, s.Shell != "", s.HTTP != nil} {
		if is {
			given++
		}
	}
	switch {
	case s.handlerType == "http" && s.HTTP == nil:
		return errors.New("handler_type http needs http_handler_config")
	case s.handlerType != "http" && s.HTTP != nil:
		return errors.New("http_handler_config needs handler_type http")
	case given == 0:
		return errors.New("no handler: give args, or handler_type http with http_handler_config")
	case given > 1:
		return errors.New("more than one handler: only one of args, handler and http_handler_config may be given")
	}
	return nil
}

// String names a watch in the log, without its token.
func (s *Spec) String() string {
	for _, what := range []string{s.Key, s.Prefix, s.Service, s.ServiceID, s.Name, s.State} {
		if what != "" {
			return s.Type + " " + what
		}
	}
	return s.Type
}
