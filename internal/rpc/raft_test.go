package rpc

import (
	"io"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// TestRaftTransport: hashicorp/raft's own transport works over the shared port,
// and announces the advertised address.
func TestRaftTransport(t *testing.T) {
	transport := func() *raft.NetworkTransport {
		mux, err := Listen(MuxConfig{Addr: "127.0.0.1:0"})
		if err != nil {
			t.Fatal(err)
		}
		tr := raft.NewNetworkTransport(mux.Raft(), 2, 2*time.Second, io.Discard)
		t.Cleanup(func() {
			if err := tr.Close(); err != nil {
				t.Error(err)
			}
			if err := mux.Close(); err != nil {
				t.Error(err)
			}
		})
		if string(tr.LocalAddr()) != mux.Addr().String() {
			t.Errorf("announces %s, listens on %s", tr.LocalAddr(), mux.Addr())
		}
		return tr
	}
	a, b := transport(), transport()
	go func() {
		for rpc := range b.Consumer() {
			req := rpc.Command.(*raft.AppendEntriesRequest)
			rpc.Respond(&raft.AppendEntriesResponse{Term: req.Term + 1, Success: true}, nil)
			return
		}
	}()
	var resp raft.AppendEntriesResponse
	err := a.AppendEntries("b", b.LocalAddr(), &raft.AppendEntriesRequest{Term: 6, Entries: []*raft.Log{{Index: 1}}}, &resp)
	if err != nil || !resp.Success || resp.Term != 7 {
		t.Errorf("%+v, %v", resp, err)
	}
}
