package app

import (
	"testing"
	"time"
)

// TestAModelHasLessWeightForUnknownWords queries a complete service to check that none of the wrappers around the model
// hides its Coverage.
func TestAModelHasLessWeightForUnknownWords(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	store := p.newDatastore()
	p.must(p.post("/api/datastores/upsert/"+store, map[string]any{"documents": []any{
		map[string]any{"text": "The weather is lovely today, and nobody stays at home.", "name": "weather"},
		map[string]any{"text": "Погода сегодня прекрасная, и дома никто не остаётся.", "name": "погода"},
	}}, nil))
	p.settled(store, time.Minute)
	weight := func(query string) float64 {
		t.Helper()
		var said struct {
			Explanation struct {
				Datastores []struct {
					Weight float64 `json:"dense_weight"`
				}
			}
		}
		p.must(p.post("/datastores/"+store+"/query?explain=true", map[string]any{"query": query}, &said))
		if len(said.Explanation.Datastores) != 1 {
			t.Fatalf("%d datastores were searched", len(said.Explanation.Datastores))
		}
		return said.Explanation.Datastores[0].Weight
	}
	if got := weight("What is the weather like today?"); got < 0.25 {
		t.Errorf("in English the built-in model has a weight of %v, want about 0.3", got)
	}
	if got := weight("Какая сегодня погода?"); got != 0 {
		t.Errorf("in Russian the built-in model has a weight of %v, want none", got)
	}
}
