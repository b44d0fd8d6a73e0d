package consensus

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/model"
)

// smallDisk mounts a file system of that many MiB.
func smallDisk(t *testing.T, size int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", size)); err != nil {
		t.Skipf("a small file system can't be mounted here (needs root): %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// occupy takes all that is left of a disk, as somebody else's file.
func occupy(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for piece := make([]byte, 64<<10); err == nil; {
		_, err = f.Write(piece)
	}
}

// TestFullDisk: writes fail with their reason, nothing acknowledged is lost, and with
// space the server goes on by itself.
func TestFullDisk(t *testing.T) {
	disk := smallDisk(t, 16)
	dir, other := filepath.Join(disk, "raft"), filepath.Join(disk, "other")
	m := &listMachine{}
	l := openSingle(t, Config{Dir: dir, SegmentSize: 1 << 20}, m)
	awaitLeader(t, l)
	var acknowledged []string
	fill := func() error {
		for i := 0; ; i++ {
			command := fmt.Sprintf("%d:%s", i, strings.Repeat("x", 100<<10))
			if _, err := l.Commit(t.Context(), []byte(command)); err != nil {
				return err
			}
			acknowledged = append(acknowledged, command)
		}
	}
	for round := range 3 {
		occupy(t, other)
		err := fill()
		for model.KindOf(err) == model.KindNoLeader && round > 0 {
			err = fill() // it was just lost
		}
		if model.KindOf(err) != model.KindNoSpace || !strings.Contains(err.Error(), "disk of server one is full") {
			t.Fatalf("kind %d: %v", model.KindOf(err), err)
		}
		if err := os.Remove(other); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		awaitLeader(t, l)
		if _, err := l.Commit(t.Context(), []byte("free")); err != nil {
			t.Fatal(err)
		}
		acknowledged = append(acknowledged, "free")
		t.Logf("%d commands; leads and writes %v after there was space", len(acknowledged), time.Since(start).Round(time.Millisecond))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	again := &listMachine{}
	l = openSingle(t, Config{Dir: dir, SegmentSize: 1 << 20}, again)
	awaitLeader(t, l)
	commit(t, l, "end")
	var got []string
	for _, c := range again.list() {
		if c != "end" {
			got = append(got, c)
		}
	}
	// What was refused must not come back; what was acknowledged must.
	if len(got) != len(acknowledged) {
		t.Fatalf("%d commands after a restart, %d were acknowledged", len(got), len(acknowledged))
	}
	for i := range got {
		if got[i] != acknowledged[i] {
			t.Fatalf("command %d differs", i)
		}
	}
}

// TestReserveKeepsLeadership: with somebody to make room, a full disk is no event.
func TestReserveKeepsLeadership(t *testing.T) {
	disk := smallDisk(t, 16)
	reserve := filepath.Join(disk, "reserve")
	if err := os.WriteFile(reserve, make([]byte, 6<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	l := openSingle(t, Config{Dir: filepath.Join(disk, "raft"), SegmentSize: 1 << 20, MakeRoom: func() bool { return os.Remove(reserve) == nil }}, &listMachine{})
	awaitLeader(t, l)
	term := l.Stats()["term"]
	occupy(t, filepath.Join(disk, "other"))
	for range 40 { // 4 MiB: over several segments
		commit(t, l, strings.Repeat("y", 100<<10))
	}
	if got := l.Stats()["term"]; got != term {
		t.Errorf("term %s, began with %s: leadership was lost", got, term)
	}
	if _, err := os.Stat(reserve); err == nil {
		t.Error("the reserve was not used: the disk was not full")
	}
}
