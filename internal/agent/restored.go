package agent

import (
	"context"

	"github.com/muster-discovery/muster/internal/model"
)

// publish tells readers what changed. After a restore that is everything: the leader's
// duties begin anew, and the agent compares what it has with the catalog.
func (s *server) publish(touched []model.Topic) {
	s.hub.Publish(touched)
	if touched == nil {
		signal(s.restored)
		signal(s.replaced)
	}
}

// followRestores has the agent bring its registrations into a state that was restored,
// once the leader has brought in its node: the state may be of another cluster, whose
// node has its name.
func (s *server) followRestores(ctx context.Context) error {
	own := model.NewTopic(model.TopicNode, s.cfg.Node.Name)
	for {
		select {
		case <-s.replaced:
		case <-ctx.Done():
			return nil
		}
		for index := uint64(0); ctx.Err() == nil; {
			if n := s.store.Snapshot().Node(own.Name); n != nil && n.ID == s.nodeID {
				signal(s.resync)
				break
			}
			index = s.hub.Wait(ctx, own, index).Index
		}
	}
}

// signal leaves one in a channel that holds one: another that waits is as good.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// drain takes a signal that waits.
func drain(c <-chan struct{}) {
	select {
	case <-c:
	default:
	}
}
