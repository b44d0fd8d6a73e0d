package kill

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-discovery/muster/internal/storage"
)

// journalChild has each caller put, raise and delete its own keys, and prints
// "key value" before and "key value ok" after each; the value "-" is a deletion.
func journalChild(dir string, rng *rand.Rand) error {
	j, err := storage.OpenJournal(filepath.Join(dir, "journal"))
	if err != nil {
		return err
	}
	failed := make(chan error)
	for caller := range callers {
		rng := rand.New(rand.NewPCG(rng.Uint64(), 0))
		go func() {
			for {
				if err := journalStep(j, caller, rng); err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	return <-failed
}

func journalStep(j *storage.Journal, caller int, rng *rand.Rand) error {
	key := fmt.Sprintf("%d.%d", caller, rng.IntN(20))
	if rng.IntN(4) == 0 {
		fmt.Fprintln(os.Stdout, key, "-")
		if err := j.Delete(context.Background(), key); err != nil {
			return err
		}
		fmt.Fprintln(os.Stdout, key, "-", "ok")
		return nil
	}
	// Long values, so that compaction happens often.
	value := strconv.FormatUint(rng.Uint64(), 10) + strings.Repeat("x", rng.IntN(8000))
	fmt.Fprintln(os.Stdout, key, value)
	if err := j.Put(context.Background(), key, []byte(value)); err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, key, value, "ok")
	return nil
}

func TestJournal(t *testing.T) {
	rng, dir := newRand(t), t.TempDir()
	acked, pending := map[string]string{}, map[string]string{}
	total := 0
	for kill := range *kills {
		runChild(t, "journal", dir, rng, 60*time.Millisecond, func(l string) {
			f := strings.Fields(l)
			if len(f) == 2 {
				pending[f[0]] = f[1]
				return
			}
			delete(pending, f[0])
			acked[f[0]] = f[1]
			total++
		})
		j, err := storage.OpenJournal(filepath.Join(dir, "journal"))
		if err != nil {
			t.Fatalf("kill %d: %v", kill, err)
		}
		have, err := j.Load()
		if err != nil {
			t.Fatalf("kill %d: %v", kill, err)
		}
		for caller := range callers {
			for k := range 20 {
				key := fmt.Sprintf("%d.%d", caller, k)
				got := "-"
				if v, ok := have[key]; ok {
					got = string(v)
				}
				want, ok := acked[key]
				if !ok {
					want = "-"
				}
				if p, ok := pending[key]; got != want && !(ok && got == p) {
					t.Errorf("kill %d: key %s has %.20q, acknowledged was %.20q", kill, key, got, want)
				}
				acked[key] = got
			}
		}
		clear(pending)
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d kills, %d acknowledged writes", *kills, total)
	if total < *kills {
		t.Errorf("only %d writes were acknowledged: the test tests nothing", total)
	}
}
