package linear

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// Registers is a client that reads and writes keys. Keys change with time, which keeps
// the histories short in which operations without an outcome stay open.
type Registers struct {
	Client
	Keys   int // at one time
	Prefix string
	Epoch  time.Duration // after which there are others
	Began  time.Time     // of the first epoch: the same for all clients
}

func (c *Registers) key() string {
	return fmt.Sprintf("%s/register/%d/%d", c.Prefix, time.Since(c.Began)/c.Epoch, c.Random.IntN(c.Keys))
}

// Run works until ctx ends.
func (c *Registers) Run(ctx context.Context) {
	for c.rest(ctx) {
		key := c.key()
		switch n := c.Random.IntN(100); {
		case n < 40:
			c.Get(ctx, key)
		case n < 65:
			v := value(c.Number)
			c.write(ctx, Op{Kind: Put, On: key, Value: v}, http.MethodPut, "")
		case n < 72:
			c.write(ctx, Op{Kind: Delete, On: key}, http.MethodDelete, "")
		default:
			c.conditional(ctx, key, n)
		}
	}
}

// Get is one consistent read.
func (c *Registers) Get(ctx context.Context, key string) Op {
	op, e := c.read(ctx, Op{Kind: Get, On: key}, key)
	op.Value, op.Index, op.Token = string(e.Value), e.ModifyIndex, 0
	c.History.Add(op)
	return op
}

// conditional reads, and writes only if nobody else did meanwhile.
func (c *Registers) conditional(ctx context.Context, key string, n int) {
	seen := c.Get(ctx, key)
	if seen.Result != Yes {
		return
	}
	query := fmt.Sprintf("?cas=%d", seen.Index)
	if n < 80 && seen.Value != "" {
		c.write(ctx, Op{Kind: DeleteCAS, On: key, Expect: seen.Value}, http.MethodDelete, query)
		return
	}
	v := value(c.Number)
	c.write(ctx, Op{Kind: CAS, On: key, Expect: seen.Value, Value: v}, http.MethodPut, query)
}

func (c *Registers) write(ctx context.Context, op Op, method, query string) {
	op, _, _ = c.do(ctx, op, method, "/v1/kv/"+op.On+query, []byte(op.Value))
	c.History.Add(op)
}
