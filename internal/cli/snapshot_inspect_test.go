package cli

import (
	"encoding/json"
	"testing"
)

func TestSnapshotInspect(t *testing.T) {
	path := saved(t)
	r := muster("snapshot", "inspect", "-kvdetails", path)
	if r.code != 0 {
		t.Fatal(r)
	}
	golden(t, "snapshot_inspect.txt", r.out)
	r = muster("snapshot", "inspect", "-kvdetails", "-kvdepth=1", "-kvfilter=app/", "-format=json", path)
	var found inspected
	if err := json.Unmarshal([]byte(r.out), &found); err != nil {
		t.Fatal(err, r)
	}
	if len(found.StatsKV) != 1 || *found.StatsKV[0] != (share{"app", found.TotalSizeKV, 2}) || found.Meta.Index != 5 || found.Meta.ID != "2-5-1700000000000" {
		t.Errorf("%s", r.out)
	}
	muster("snapshot", "inspect", "-kvdepth=3", path).wantError(t, "need -kvdetails")
	muster("snapshot", "inspect", "-format=xml", path).wantError(t, "want pretty or json")
}

func TestByteSize(t *testing.T) {
	for n, want := range map[uint64]string{0: "0B", 344: "344B", 1024: "1KB", 12595: "12.3KB", 5 << 30: "5GB"} {
		if got := byteSize(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
