package gossip

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/gossip/gossiptest"
)

// inbox collects messages.
type inbox struct {
	mu  sync.Mutex
	got []Message
}

func (b *inbox) add(m Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got = append(b.got, m)
}

func (b *inbox) list() []Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]Message(nil), b.got...)
}

func TestBroadcastReachesEveryoneOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := gossiptest.New()
		boxes := make([]*inbox, 4)
		var nodes []*node
		begin := func(i int) *node {
			boxes[i] = &inbox{}
			cfg := testConfig(net, i+1)
			cfg.OnMessage = boxes[i].add
			return start(t, cfg)
		}
		for i := range 3 {
			nodes = append(nodes, begin(i))
			if _, err := nodes[i].Join([]string{nodes[0].lan()}, false); err != nil && i > 0 {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"one", "two"} {
			if err := nodes[1].Broadcast(name, []byte("payload of "+name)); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, 10*time.Second, "all have both", func() bool {
			return all(boxes[:3], func(b *inbox) bool { return len(b.list()) >= 2 })
		})
		// What is repeated would come with the next full exchange of states.
		time.Sleep(2 * time.Minute)
		for i, b := range boxes[:3] {
			got := b.list()
			if len(got) != 2 {
				t.Fatalf("node %d heard %d messages", i, len(got))
			}
			for _, m := range got {
				if string(m.Payload) != "payload of "+m.Name || m.LTime == 0 {
					t.Errorf("node %d heard %+v", i, m)
				}
			}
		}
		// Who joins later does not do again what was asked of others before.
		late := begin(3)
		if _, err := late.Join([]string{nodes[0].lan()}, false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		if got := boxes[3].list(); len(got) != 0 {
			t.Errorf("a new agent heard %+v", got)
		}
	})
}

func TestBroadcastTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := start(t, testConfig(gossiptest.New(), 1)) // nobody listens: that must not hurt either
		if err := n.Broadcast("ok", make([]byte, 400)); err != nil {
			t.Error(err)
		}
		err := n.Broadcast("big", make([]byte, 20000))
		if err == nil || !strings.Contains(err.Error(), "user event exceeds configured limit of 512 bytes before encoding") {
			t.Errorf("got %v", err)
		}
	})
}

func TestCoordinates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := network(t, gossiptest.New(), 2)
		if c, ok := nodes[0].Coordinate("n1", false); !ok || !c.Valid() {
			t.Errorf("own: %+v, %t", c, ok)
		}
		eventually(t, time.Minute, "the other's coordinate", func() bool {
			c, ok := nodes[0].Coordinate("n2", false)
			return ok && c.Valid()
		})
		if _, ok := nodes[0].Coordinate("ghost", false); ok {
			t.Error("a coordinate of nobody")
		}
		if _, ok := nodes[0].Coordinate("n1", true); ok {
			t.Error("a coordinate in a pool that is not there")
		}
	})
}
