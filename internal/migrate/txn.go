package migrate

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// kvOp is an operation on a key in a transaction. Keys travel in bodies only: in paths
// not all of them would arrive.
type kvOp struct {
	Verb  string
	Key   string
	Value []byte `json:",omitempty"`
	Flags uint64 `json:",omitempty"`
	Index uint64 `json:",omitempty"`
}

func (o kvOp) op() any { return map[string]any{"KV": o} }

// txnAnswer is what a transaction came to.
type txnAnswer struct {
	Results []struct{ KV *entry }
	Errors  []struct {
		OpIndex int
		What    string
	}
}

// transact does a transaction; one that does not hold has errors in its answer.
func transact(ctx context.Context, e *Endpoint, ops []any) (*txnAnswer, error) {
	body, err := json.Marshal(ops)
	if err != nil {
		return nil, fmt.Errorf("encode a transaction: %w", err)
	}
	answer := new(txnAnswer)
	r := request{method: http.MethodPut, path: "/v1/txn", body: body, accept: http.StatusConflict}
	return answer, e.call(ctx, r, decodeInto(answer))
}
