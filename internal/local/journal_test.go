package local

import (
	"testing"

	"github.com/muster-discovery/muster/internal/storage"
)

// openJournal is a real journal. Only tests join the two packages; in the product
// the agent does.
func openJournal(t testing.TB, path string) *storage.Journal {
	t.Helper()
	j, err := storage.OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}
