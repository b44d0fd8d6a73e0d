package state

import "github.com/muster-discovery/muster/internal/model"

// Snapshot is the state at one moment. It never changes; any number of goroutines
// may read it. Names of nodes and services are found in any case. Values are
// shared with the state and must not be modified.
type Snapshot struct {
	t *tables
}

// Index is the index of the last command.
func (s *Snapshot) Index() uint64 { return s.t.index }

// Floor is the index of topics that nothing is known of.
func (s *Snapshot) Floor() uint64 { return s.t.floor }

// TopicIndex is the index of a topic's last change, also after its thing is gone.
// It is never 0.
func (s *Snapshot) TopicIndex(t model.Topic) uint64 {
	return s.t.topicIndex(model.NewTopic(t.Kind, t.Name))
}

// Nodes are all nodes by name.
func (s *Snapshot) Nodes() []*model.Node {
	out := make([]*model.Node, 0, s.t.nodes.Len())
	s.t.nodes.Scan(func(r *nodeRow) bool {
		out = append(out, r.node)
		return true
	})
	return out
}

// Node is the node of that name, or nil.
func (s *Snapshot) Node(name string) *model.Node {
	if row := s.t.node(model.Fold(name)); row != nil {
		return row.node
	}
	return nil
}

// NodeByID is the node with that id, or nil.
func (s *Snapshot) NodeByID(id string) *model.Node {
	if id == "" {
		return nil
	}
	return s.t.nodeByID(id)
}

// NodeServices is a node with its services by id, or nil.
func (s *Snapshot) NodeServices(name string) *model.NodeServices {
	row := s.t.node(model.Fold(name))
	if row == nil {
		return nil
	}
	out := &model.NodeServices{Node: row.node}
	s.t.eachService(row.key, func(r *instanceRow) bool {
		out.Services = append(out.Services, r.Service)
		return true
	})
	return out
}

// NodeChecks are all checks on a node by id, also those of its services.
func (s *Snapshot) NodeChecks(node string) []*model.Check {
	var out []*model.Check
	s.t.eachCheck(model.Fold(node), func(r *checkRow) bool {
		out = append(out, &r.Check)
		return true
	})
	return out
}

// Check is one check on a node, or nil.
func (s *Snapshot) Check(node, id string) *model.Check {
	if row := s.t.check(model.Fold(node), id); row != nil {
		return &row.Check
	}
	return nil
}

// Service is one instance on a node, or nil.
func (s *Snapshot) Service(node, id string) *model.Service {
	if row := s.t.service(model.Fold(node), id); row != nil {
		return row.Service
	}
	return nil
}

// Instances are the instances of a service by node and id.
func (s *Snapshot) Instances(service string) []*model.Instance {
	var out []*model.Instance
	s.t.eachInstance(model.Fold(service), func(r *instanceRow) bool {
		out = append(out, &r.Instance)
		return true
	})
	return out
}

// Services is the list of services by name.
func (s *Snapshot) Services() []*model.ServiceSummary {
	return s.t.summaries.Items()
}

// CARoots are the mesh roots in the order they were set in, and the cluster's id.
func (s *Snapshot) CARoots() (roots []*model.CARoot, clusterID string) {
	return s.t.roots, s.t.clusterID
}

// Key is the entry of a key, or nil.
func (s *Snapshot) Key(key string) *model.KVEntry { return s.t.key(key) }

// Query is the prepared query with that id, or nil.
func (s *Snapshot) Query(id string) *model.Query { return s.t.query(id) }

// Session is the session with that id, or nil.
func (s *Snapshot) Session(id string) *model.Session { return s.t.session(id) }
