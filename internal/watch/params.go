package watch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// common are the parameters of all types.
var common = []string{"type", "datacenter", "token", "handler", "args", "handler_type", "handler_timeout", "http_handler_config"}

// parameters has what each parameter sets.
var parameters = map[string]func(s *Spec, v any) error{
	"type":        text(func(s *Spec) *string { return &s.Type }),
	"datacenter":  text(func(s *Spec) *string { return &s.Datacenter }),
	"token":       text(func(s *Spec) *string { return &s.Token }),
	"key":         text(func(s *Spec) *string { return &s.Key }),
	"prefix":      text(func(s *Spec) *string { return &s.Prefix }),
	"service":     text(func(s *Spec) *string { return &s.Service }),
	"service_id":  text(func(s *Spec) *string { return &s.ServiceID }),
	"name":        text(func(s *Spec) *string { return &s.Name }),
	"state":       text(func(s *Spec) *string { return &s.State }),
	"filter":      text(func(s *Spec) *string { return &s.Filter }),
	"handler":     text(func(s *Spec) *string { return &s.Shell }),
	"stale":       boolean(func(s *Spec) *bool { return &s.Stale }),
	"passingonly": boolean(func(s *Spec) *bool { return &s.PassingOnly }),
	"tag":         func(s *Spec, v any) (err error) { s.Tags, err = texts(v); return err },
	"args": func(s *Spec, v any) (err error) {
		if s.Args, err = texts(v); err == nil && (len(s.Args) == 0 || s.Args[0] == "") {
			err = errors.New("names no program")
		}
		return err
	},
	"handler_type": func(s *Spec, v any) error {
		if v != "script" && v != "http" {
			return fmt.Errorf("want script or http, not %v", v)
		}
		s.handlerType = v.(string)
		return nil
	},
	"handler_timeout": func(s *Spec, v any) (err error) { s.Timeout, err = duration(v); return err },
	"http_handler_config": func(s *Spec, v any) (err error) {
		s.HTTP, err = httpConfig(v)
		return err
	},
}

func set(s *Spec, name string, v any) error {
	if v == nil {
		return nil // the same as a key that is not there
	}
	if err := parameters[name](s, v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func text(field func(*Spec) *string) func(*Spec, any) error {
	return func(s *Spec, v any) error {
		t, ok := v.(string)
		if !ok {
			return fmt.Errorf("want a text, not %v", v)
		}
		*field(s) = t
		return nil
	}
}

// boolean reads true and false, also as texts: so they come from the command line.
func boolean(field func(*Spec) *bool) func(*Spec, any) error {
	return func(s *Spec, v any) error {
		b, err := strconv.ParseBool(fmt.Sprint(v))
		if err != nil {
			return fmt.Errorf("want true or false, not %v", v)
		}
		*field(s) = b
		return nil
	}
}

// texts reads a list of texts, or a single one.
func texts(v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	out := make([]string, len(list))
	for i, e := range list {
		if out[i], ok = e.(string); !ok {
			return nil, fmt.Errorf("want a list of texts, not %v in it", e)
		}
	}
	return out, nil
}

func duration(v any) (time.Duration, error) {
	t, _ := v.(string)
	d, err := time.ParseDuration(t)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf(`want a duration like "10s", not %v`, v)
	}
	return d, nil
}

// httpConfig reads the object http_handler_config. HCL makes a list of one of it.
func httpConfig(v any) (*HTTPConfig, error) {
	if list, ok := v.([]any); ok && len(list) == 1 {
		v = list[0]
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	in := struct {
		Path, Method, Timeout string
		Header                map[string]any
		TLSSkipVerify         bool `json:"tls_skip_verify"`
	}{}
	if err := strict(data, &in); err != nil {
		return nil, err
	}
	h := &HTTPConfig{URL: in.Path, Method: in.Method, Timeout: defaultHTTPTimeout, TLSSkipVerify: in.TLSSkipVerify, Header: http.Header{}}
	if h.Method == "" {
		h.Method = http.MethodPost
	}
	if u, err := url.Parse(h.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("path: want an address like http://127.0.0.1:8080/changed, not %q", h.URL)
	}
	if in.Timeout != "" {
		if h.Timeout, err = duration(in.Timeout); err != nil {
			return nil, fmt.Errorf("timeout: %w", err)
		}
	}
	for name, v := range in.Header {
		values, err := texts(v)
		if err != nil {
			return nil, fmt.Errorf("header.%s: %w", name, err)
		}
		h.Header[http.CanonicalHeaderKey(name)] = values
	}
	return h, nil
}

// strict decodes an object that may have no other keys than v has.
func strict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	err := dec.Decode(v)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s: want %s, not %s", wrong.Field, wrong.Type, wrong.Value)
	}
	return err
}
