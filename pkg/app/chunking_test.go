package app

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestDocumentsAreChunkedAgainWhenTheSizeChanges(t *testing.T) {
	t.Parallel()
	model := newModelServer(t)
	p := newProgram(t, "OPENAI_BASE_URL="+model.URL+"/v1", "SLUICE_EMBED_MODEL=tiny")
	p.start()
	store := p.newDatastore()
	var text strings.Builder
	for i := range 60 {
		fmt.Fprintf(&text, "Sentence number %d tells that pump %d stands in hall %d. ", i, i, i)
	}
	p.must(p.post("/datastores/upsert/"+store, map[string]any{"documents": []any{map[string]any{"text": text.String(), "name": "long"}}}, nil))
	p.must(p.post("/datastores/upsert/"+store, map[string]any{"documents": []any{map[string]any{"text": "A short note.", "name": "short"}}}, nil))
	chunks := func() map[string]int {
		counts := map[string]int{}
		for _, s := range p.settled(store, time.Minute) {
			if s.Status != "synched" {
				t.Fatalf("%s: %s %s", s.Name, s.Status, s.Error)
			}
			counts[s.Name] = s.Chunks
		}
		return counts
	}
	before := chunks()
	embedded := model.requests.Load()
	p.moveTo(store, `{"chunking": {"targetTokens": 512, "maxTokens": 1024}}`)
	after := chunks()
	if before["long"] < 4 || after["long"] != 2 || after["short"] != 1 {
		t.Errorf("chunks before: %v, with 512 tokens: %v", before, after)
	}
	if n := model.requests.Load() - embedded; n != 1 {
		t.Errorf("%d requests for embeddings, want 1: what is cut as before is not embedded again", n)
	}
	embedded = model.requests.Load()
	p.moveTo(store, `{"chunking": {"targetTokens": 512, "maxTokens": 1024}}`)
	if again := chunks(); again["long"] != after["long"] || model.requests.Load() != embedded {
		t.Errorf("the same sizes again: %v, %d requests", again, model.requests.Load()-embedded)
	}
}
