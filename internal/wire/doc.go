// Package wire holds the JSON shapes that Consul's clients expect: field names
// and their casing, which fields are always present, null against [] against {},
// durations as text. Outward it gives the encoders that views use to make frames;
// inward it decodes request bodies and service and check definitions, which also
// come from configuration files. It knows neither HTTP nor where values live, and
// starts no goroutine.
package wire
