package trace

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestRecorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, r := With(t.Context())
		From(ctx).Add("source", "local")
		time.Sleep(time.Second)
		From(ctx).Addf("wait", "index %d", 7)
		steps, dropped := r.Steps()
		want := []Step{{0, "source", "local"}, {time.Second, "wait", "index 7"}}
		if len(steps) != 2 || steps[0] != want[0] || steps[1] != want[1] || dropped != 0 {
			t.Fatalf("got %v, %d dropped; want %v", steps, dropped, want)
		}
	})
}

func TestRecorderIsBounded(t *testing.T) {
	_, r := With(t.Context())
	for range maxSteps + 3 {
		r.Add("x", "")
	}
	if steps, dropped := r.Steps(); len(steps) != maxSteps || dropped != 3 {
		t.Fatalf("%d steps, %d dropped", len(steps), dropped)
	}
}

func TestAbsentRecorderIsFree(t *testing.T) {
	ctx := context.Background()
	if n := testing.AllocsPerRun(100, func() { From(ctx).Add("x", "y") }); n != 0 {
		t.Fatalf("%v allocations without a recorder", n)
	}
	if steps, _ := From(ctx).Steps(); steps != nil {
		t.Fatal("steps without a recorder")
	}
}
