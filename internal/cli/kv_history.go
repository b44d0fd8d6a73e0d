package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/muster-discovery/muster/internal/wire"
)

var kvHistoryCommand = &command{
	name:  "kv history",
	args:  "KEY",
	short: "Show what a key was",
	long: `
Lists the revisions of a key that the servers keep, newest first: when it was
written, by whom, through what, and how. Also of a key that was deleted. Exit
code 1 if nothing is known of the key.

    muster kv history app/config
    muster kv history -values -limit=3 app/config`,
	setup: func(f *flags) func([]string) int {
		h := &kvHistory{}
		f.IntVar(&h.limit, "limit", 0, "Most revisions to list. 0: all that are kept.")
		f.BoolVar(&h.values, "values", false, "Print the values too.")
		h.format = f.format()
		h.conn = f.connect(true)
		return h.run
	},
}

type kvHistory struct {
	conn   *connection
	limit  int
	values bool
	format *string
}

func (h *kvHistory) run(args []string) int {
	f := h.conn.f
	key, err := oneKey(args, false)
	if err == nil {
		err = checkFormat(*h.format)
	}
	if err == nil && h.limit < 0 {
		err = errors.New("-limit must not be negative")
	}
	if err != nil {
		return f.fail("muster kv history: %v.", err)
	}
	params := map[string]string{"values": strconv.FormatBool(h.values)}
	if h.limit > 0 {
		params["limit"] = strconv.Itoa(h.limit)
	}
	list, code := h.conn.revisions(key, params)
	if list == nil {
		return code
	}
	if *h.format == "json" {
		data, err := json.MarshalIndent(list, "", "    ")
		if err != nil {
			return f.fail("encode the history: %v", err)
		}
		fmt.Fprintf(f.stdout, "%s\n", data)
		return 0
	}
	rows := [][]string{{"Index", "Time", "Operation", "Size", "Flags", "Source", "Accessor", "Session"}}
	if h.values {
		rows[0] = append(rows[0], "Value")
	}
	for i := range list {
		rows = append(rows, h.row(&list[i]))
	}
	columns(f.stdout, rows)
	return 0
}

func (h *kvHistory) row(r *wire.Revision) []string {
	size, operation := strconv.Itoa(r.Size), r.Operation
	if r.Deleted {
		size = "-"
	}
	if r.Txn {
		operation += " (txn)"
	}
	row := []string{strconv.FormatUint(r.Index, 10), revisionTime(r), operation, size, strconv.FormatUint(r.Flags, 10),
		dash(shown(r.Source)), dash(shown(r.Accessor)), dash(shown(r.Session))}
	if h.values {
		value := "-"
		if !r.Deleted {
			value = shown(string(r.Value))
		}
		row = append(row, value)
	}
	return row
}

func revisionTime(r *wire.Revision) string {
	if r.Time == nil {
		return "-"
	}
	return r.Time.UTC().Format(time.DateTime) + "Z"
}

const historyPath = "/muster/v1/kv/history/"

// revisions asks for the history of a key. A nil list is an error that was told, with
// the exit code.
func (c *connection) revisions(key string, params map[string]string) ([]wire.Revision, int) {
	c.wrap = func(next http.RoundTripper) http.RoundTripper { return historyParams{next, params} }
	client, err := c.client()
	if err != nil {
		return nil, c.f.fail("%v", err)
	}
	var list []wire.Revision
	_, err = client.Raw().Query(historyPath+key, &list, c.query())
	var status api.StatusError
	switch {
	case errors.As(err, &status) && status.Code == http.StatusNotFound && strings.HasPrefix(status.Body, "["):
		return nil, c.f.fail("Error! Nothing is known of the key %s, nor of what it was", shown(key))
	case err != nil:
		return nil, c.fail("reading the history", err)
	case len(list) == 0:
		return nil, c.f.fail("The agent's answer is not a history")
	}
	return list, 0
}

// historyParams adds the parameters, for which the API client has no place.
type historyParams struct {
	next   http.RoundTripper
	params map[string]string
}

func (p historyParams) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasPrefix(r.URL.Path, historyPath) {
		r = r.Clone(r.Context())
		q := r.URL.Query()
		for name, value := range p.params {
			q.Set(name, value)
		}
		r.URL.RawQuery = q.Encode()
	}
	return p.next.RoundTrip(r)
}

// revisionAt finds a revision by its index.
func revisionAt(list []wire.Revision, index uint64) (*wire.Revision, error) {
	i := slices.IndexFunc(list, func(r wire.Revision) bool { return r.Index == index })
	if i < 0 {
		return nil, fmt.Errorf("there is no revision %d: \"muster kv history\" lists those that are kept", index)
	}
	return &list[i], nil
}
