package linear

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// Door leads to the HTTP API of one agent. Calls may overlap.
type Door interface {
	String() string
	Ask(ctx context.Context, method, path string, body []byte) (status int, header http.Header, answer []byte, err error)
}

// Client is what the clients have in common: doors, one of which it uses until that fails
// it, and a history.
type Client struct {
	Number  int
	Doors   []Door
	History *History
	Random  *rand.Rand
	Limit   time.Duration // of one operation
	Pause   time.Duration // between operations, on average

	at int
}

// values are unique in the process.
var values atomic.Uint64

func value(client int) string {
	return "c" + strconv.Itoa(client) + "-" + strconv.FormatUint(values.Add(1), 10)
}

// do asks and adds the operation with its outcome. What is neither 200 nor an answer
// that says that nothing was done leaves the outcome open, and leads the client to the
// next door.
func (c *Client) do(ctx context.Context, op Op, method, path string, body []byte) (Op, http.Header, []byte) {
	door := c.Doors[c.at%len(c.Doors)]
	// The deadline is the operation's own: the end of the test cuts off no answer.
	asked, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Limit)
	defer cancel()
	op.Client, op.Via, op.Call = c.Number, door.String(), Now()
	status, header, answer, err := door.Ask(asked, method, path, body)
	op.Return = Now()
	switch {
	case err != nil:
		op.Result, op.Note = Unknown, err.Error()
	case status == http.StatusOK:
		op.Result = Yes
		if string(answer) == "false" {
			op.Result = No
		}
	case status == http.StatusConflict && header.Get("X-Muster-Reason") == "fenced":
		op.Result = No
	case status == http.StatusNotFound && method == http.MethodGet:
		op.Result = Yes
	default:
		op.Result, op.Note = Unknown, strconv.Itoa(status)+" "+string(answer)
	}
	if op.Result == Unknown {
		c.at++
	}
	return op, header, answer
}

// entry is a key as the API has it.
type entry struct {
	Value       []byte
	Session     string
	ModifyIndex uint64
}

// read is a consistent read of a key into op, whose kind says what of it counts.
func (c *Client) read(ctx context.Context, op Op, key string) (Op, entry) {
	op, header, answer := c.do(ctx, op, http.MethodGet, "/v1/kv/"+key+"?consistent", nil)
	var list []entry
	if op.Result != Yes || len(answer) == 0 {
		return op, entry{}
	}
	if err := json.Unmarshal(answer, &list); err != nil || len(list) != 1 {
		op.Result, op.Note = Unknown, "not one entry: "+string(answer)
		return op, entry{}
	}
	op.Token, _ = strconv.ParseUint(header.Get("X-Muster-Fencing-Token"), 10, 64)
	return op, list[0]
}

// rest waits between operations; false: the test is over.
func (c *Client) rest(ctx context.Context) bool {
	pause := time.Duration(c.Random.Int64N(int64(2*c.Pause) + 1))
	select {
	case <-time.After(pause):
		return true
	case <-ctx.Done():
		return false
	}
}
