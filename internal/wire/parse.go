package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxDepth bounds how deep objects and lists of a body may be nested. Nothing that
// Consul's clients send comes near it.
const maxDepth = 64

// object is a JSON object with its members in the order of the text, since the
// last of several equal names counts, and names are equal without regard to case.
type object []member

type member struct {
	name  string
	value any
}

// parse reads one JSON value: nil, bool, json.Number, string, []any or object.
// Data after it is an error: a client that sends it would lose it silently.
func parse(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	v, err := parseValue(dec, 0)
	if err != nil {
		if errors.Is(err, io.EOF) && len(bytes.TrimSpace(data)) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	end := dec.InputOffset()
	if rest := bytes.TrimSpace(data[end:]); len(rest) > 0 {
		return nil, fmt.Errorf("unexpected data after the JSON value, at byte %d", end)
	}
	return v, nil
}

func parseValue(dec *json.Decoder, depth int) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return token, nil
	}
	if depth >= maxDepth {
		return nil, fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	if delim == '[' {
		return parseList(dec, depth+1)
	}
	return parseObject(dec, depth+1)
}

func parseList(dec *json.Decoder, depth int) (any, error) {
	list := []any{}
	for dec.More() {
		v, err := parseValue(dec, depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := dec.Token() // the closing bracket
	return list, err
}

func parseObject(dec *json.Decoder, depth int) (any, error) {
	obj := object{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, ok := token.(string)
		if !ok {
			return nil, fmt.Errorf("want a field name, got %s", describe(token))
		}
		v, err := parseValue(dec, depth)
		if err != nil {
			return nil, err
		}
		obj = append(obj, member{name, v})
	}
	_, err := dec.Token()
	return obj, err
}

// plain turns a parsed value into what encoding/json would have made of it.
func plain(v any) any {
	switch v := v.(type) {
	case object:
		m := make(map[string]any, len(v))
		for _, f := range v {
			m[f.name] = plain(f.value)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for k := range v {
			list[k] = plain(v[k])
		}
		return list
	}
	return v
}

// describe names the type of a parsed value in error messages.
func describe(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case json.Number:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "a list"
	case object:
		return "an object"
	}
	return fmt.Sprintf("%v", v)
}
