package lookup

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-discovery/muster/internal/acl"
	"github.com/muster-discovery/muster/internal/model"
)

// past is a Reader that has the history of one key in the store.
type past struct{ *store }

var app = model.Topic{Kind: model.TopicKVKey, Name: "app"}

func (p past) Index() uint64 { return 100 }

func (p past) ReadTxn(*model.Txn) (*model.Outcome, uint64, error) { return nil, 0, nil }

func (p past) KeyHistory(key string, limit int) (list []*model.Revision, index uint64) {
	values, index := p.Items(model.Topic{Kind: model.TopicKVKey, Name: key})
	for i := range values {
		if limit == 0 || i < limit {
			list = append(list, &model.Revision{Key: key, Index: index - uint64(i)})
		}
	}
	return list, index
}

func TestKeyHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.Lookup.config.Reader = past{f.store}
		f.store.set(app, 20, 1, 2, 3)
		a, err := f.KeyHistory(context.Background(), &Request{}, "app", 2)
		if err != nil || len(a.Revisions) != 2 || a.Index != 20 || !a.KnownLeader {
			t.Fatalf("%+v %v", a, err)
		}
		start := time.Now()
		go func() {
			time.Sleep(time.Second)
			f.store.set(app, 21, 1, 2, 3, 4)
			f.publish(app)
		}()
		a, err = f.KeyHistory(context.Background(), &Request{MinIndex: 20, Wait: time.Minute}, "app", 0)
		if err != nil || len(a.Revisions) != 4 || a.Index != 21 || time.Since(start) != time.Second {
			t.Fatalf("%+v %v after %s", a, err, time.Since(start))
		}
		f.leader.self, f.leader.index = false, 50
		if _, err = f.KeyHistory(context.Background(), &Request{Mode: ModeConsistent}, "app", 0); err != nil || len(f.leader.asked) != 1 {
			t.Fatal(err, f.leader.asked)
		}
		if _, err := f.KeyHistory(context.Background(), &Request{Datacenter: "dc9"}, "app", 0); model.KindOf(err) != model.KindNoPath {
			t.Fatal(err)
		}
		f.Lookup.config.Resolve = func(string) (acl.Authorizer, error) { return partial{}, nil }
		if _, err := f.KeyHistory(context.Background(), &Request{}, "app", 0); model.KindOf(err) != model.KindDenied {
			t.Fatal(err)
		}
	})
}
