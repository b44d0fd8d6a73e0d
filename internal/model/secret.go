package model

import "log/slog"

// Secret is a text that must not show up in logs and error texts: it prints as
// redacted, also inside of other values. A conversion to string reveals it.
type Secret string

const redacted = "(redacted)"

func (Secret) String() string { return redacted }

// GoString keeps the secret out of %#v.
func (Secret) GoString() string { return redacted }

// LogValue keeps the secret out of the log.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText keeps the secret out of JSON. What has to show it converts it.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
