package consensus

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"

	"github.com/muster-discovery/muster/internal/storage"
)

const (
	peersFile = "peers.json"
	infoFile  = "peers.info"
)

// peersInfo explains peers.json to whoever looks for help in the folder.
const peersInfo = `A majority of the servers is lost for good, and the rest has no leader any more?
Then write a file peers.json into this folder, on each server that is left, while
all of them are stopped. It lists the servers that the cluster is to have:

[
  {
    "id": "adf4238a-882b-9ddc-4a9d-5b6758e4159e",
    "address": "10.1.0.1:8300",
    "non_voter": false
  }
]

id       the node's id: the file node-id in the data dir, or node_id where it is
         configured
address  IP and server port; where the server is a member, its present address
         is found by its id
non_voter  true for a server that is to have no vote; may be left out

Write the same file everywhere, and start the servers. Each takes the list in place
of the old one, keeps its data, and removes the file. What the lost servers had
acknowledged and no other one holds is gone. Never start a lost server again with
its old data dir: two of them would still be a majority of the old cluster.
`

// peer is an entry of peers.json.
type peer struct {
	ID       string `json:"id"`
	Address  string `json:"address"`
	NonVoter bool   `json:"non_voter"`
}

// recoverCluster puts the servers of peers.json, if it is there, in place of the ones
// that this server knows. That is for operators who have lost the majority: nobody
// else may decide that the others will not come back.
func (l *Log) recoverCluster(rc *raft.Config, fsm raft.FSM) error {
	if l.config.Dir == "" {
		return nil
	}
	if err := writeInfo(filepath.Join(l.config.Dir, infoFile)); err != nil {
		return err
	}
	path := filepath.Join(l.config.Dir, peersFile)
	configuration, err := readPeers(path, l.config.NodeID)
	if err != nil || configuration == nil {
		return err
	}
	s := l.stores
	if err := raft.RecoverCluster(rc, fsm, s.log, s.stable, s.snapshots, l.transport, *configuration); err != nil {
		return fmt.Errorf("recover the cluster with %s: %w; correct the file as %s beside it says, or remove it", path, err, infoFile)
	}
	if err := s.unmarkNovice(); err != nil {
		return err
	}
	l.config.Logger.Warn("recovered the cluster: the servers of the file are its servers now", "path", path, "count", len(configuration.Servers))
	// If the crash comes before this, the next start does the same once more.
	if err := errors.Join(os.Remove(path), storage.SyncDir(l.config.Dir)); err != nil {
		return fmt.Errorf("remove %s, which has done its work: %w", path, err)
	}
	return nil
}

func writeInfo(path string) error {
	if old, err := os.ReadFile(path); err == nil && string(old) == peersInfo {
		return nil
	}
	if err := os.WriteFile(path, []byte(peersInfo), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// readPeers reads peers.json; nil: there is none.
func readPeers(path, self string) (*raft.Configuration, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("recover the cluster: %w", err)
	}
	peers, err := parsePeers(data)
	if err == nil {
		err = checkPeers(peers, self)
	}
	if err != nil {
		return nil, fmt.Errorf("recover the cluster: %s: %w; correct the file as %s beside it says, or remove it", path, err, infoFile)
	}
	configuration := &raft.Configuration{}
	for _, p := range peers {
		configuration.Servers = append(configuration.Servers, Server{ID: p.ID, Addr: p.Address, Voter: !p.NonVoter}.raftServer())
	}
	return configuration, nil
}

func parsePeers(data []byte) ([]peer, error) {
	var addresses []string
	if json.Unmarshal(data, &addresses) == nil && len(addresses) > 0 {
		return nil, errors.New("it is a list of addresses, the form of Raft protocol 2; servers are known by their ids since protocol 3")
	}
	var peers []peer
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&peers); err != nil {
		return nil, fmt.Errorf("it is not a list of servers: %w", err)
	}
	return peers, nil
}

func checkPeers(peers []peer, self string) error {
	ids, voters, own := map[string]bool{}, 0, false
	for i, p := range peers {
		switch {
		case p.ID == "" || p.Address == "":
			return fmt.Errorf("server %d has no id or no address", i+1)
		case ids[p.ID]:
			return fmt.Errorf("the id %s is there twice", p.ID)
		}
		ids[p.ID] = true
		own = own || p.ID == self
		if !p.NonVoter {
			voters++
		}
	}
	switch {
	case voters == 0:
		return errors.New("no server in it has a vote")
	case !own:
		return fmt.Errorf("this server, %s, is not in it", self)
	}
	return nil
}
