package api_test

import (
	"context"
	"testing"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/domain"
)

// asked records what the retriever is asked.
func (s *service) asked() *api.RetrieveRequest {
	var got api.RetrieveRequest
	s.retriever.retrieve = func(_ context.Context, r api.RetrieveRequest) ([]domain.Fragment, error) {
		got = r
		return nil, nil
	}
	return &got
}

// queryPaths are the ways to ask a datastore.
func queryPaths(id string) []string {
	var out []string
	for _, base := range []string{"", "/api"} {
		out = append(out, base+"/datastores/"+id+"/query", base+"/datastores/query/"+id)
	}
	return out
}

func TestTheModeOfADatastoreQuery(t *testing.T) {
	t.Parallel()
	s := newService(t)
	got := s.asked()
	for _, path := range queryPaths(s.newDatastore()) {
		for sent, want := range map[any]domain.SearchMode{nil: "", "hybrid": "hybrid", "lexical": "lexical", "dense": "dense"} {
			s.call("POST", path, object{"query": "trial", "mode": sent}).want(200)
			if got.Mode != want {
				t.Errorf("%s with mode %v: asked for %q, want %q", path, sent, got.Mode, want)
			}
		}
		if fault := s.call("POST", path, object{"query": "trial", "mode": "vague"}).fault("mode"); fault != `is "vague"; it must be one of hybrid, lexical, dense` {
			t.Errorf("%s: %s", path, fault)
		}
	}
}
