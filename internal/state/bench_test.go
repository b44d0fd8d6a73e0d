package state

import (
	"fmt"
	"testing"

	"github.com/muster-discovery/muster/internal/model"
)

func BenchmarkItems(b *testing.B) {
	s := New()
	batch := s.Batch()
	for i := range 1000 {
		id := fmt.Sprint("w", i)
		r := web(fmt.Sprint("node-", i), id, &model.Check{ID: "serfHealth", Status: "passing"},
			&model.Check{ID: "c", ServiceID: id, Status: "passing"})
		if _, err := apply(batch, r); err != nil {
			b.Fatal(err)
		}
	}
	batch.Commit()
	for _, t := range []model.Topic{
		{Kind: model.TopicService, Name: "web"},
		{Kind: model.TopicServiceCheck, Name: "web"},
		{Kind: model.TopicNodes},
		{Kind: model.TopicNode, Name: "node-7"},
		{Kind: model.TopicChecksState, Name: "critical"},
	} {
		b.Run(fmt.Sprintf("kind=%d", t.Kind), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Items(t)
			}
		})
	}
}

// BenchmarkManyInstancesOfOneService: the list of services must not cost a look at all instances.
func BenchmarkManyInstancesOfOneService(b *testing.B) {
	s := New()
	batch := s.Batch()
	for i := range 10_000 {
		r := web(fmt.Sprint("node-", i), "w")
		r.Service.Tags = []string{"a", "b"}
		if _, err := apply(batch, r); err != nil {
			b.Fatal(err)
		}
	}
	batch.Commit()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r := web(fmt.Sprint("node-", i%10_000), "w")
		r.Service.Tags = [][]string{{"a"}, {"b", "a"}}[i/10_000%2]
		batch := s.Batch()
		if _, err := apply(batch, r); err != nil {
			b.Fatal(err)
		}
		batch.Commit()
	}
}
