package app

import (
	"strings"
	"testing"
	"time"
)

// TestADatastoreMovesToTheBuiltInTransformer kills the program while it re-embeds a datastore in the background. It
// also adds a document in the meantime.
func TestADatastoreMovesToTheBuiltInTransformer(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	store := p.newDatastore()
	p.fill(store, 6)
	if s := p.datastoreInfo(store); s.EmbeddingModel != builtinModel {
		t.Fatalf("the model is %s", s.EmbeddingModel)
	}
	findable := func(when, query, want string) {
		t.Helper()
		if found := p.query(store, query, 3); len(found) == 0 || !strings.Contains(found[0].Text, want) {
			t.Errorf("%s, %q is not found: %+v", when, want, found)
		}
	}
	if s := p.moveTo(store, `{"embeddingModel": "`+builtinMiniLM+`"}`); s.Move == nil {
		t.Fatalf("after the PATCH the datastore is %+v", s)
	}
	findable("during the move", "Which section has the word numbat0004x3?", "numbat0004x3")
	p.kill()
	p.start()
	p.must(p.post("/api/datastores/upsert/"+store, map[string]any{"documents": []map[string]any{
		{"text": "Purchases may be sent back within thirty days of delivery.", "name": "returns", "metadata": map[string]string{"custom_id": "returns"}},
	}}, nil))
	p.moved(store, "embedded", 3*time.Minute)
	if s := p.datastoreInfo(store); s.EmbeddingModel != builtinMiniLM {
		t.Fatalf("after the move the model is %s", s.EmbeddingModel)
	}
	for _, d := range p.settled(store, time.Minute) {
		if d.Status != "synched" {
			t.Errorf("after the move %s is %s: %s", d.Name, d.Status, d.Error)
		}
	}
	findable("after the move", "Which section has the word numbat0002x7?", "numbat0002x7")
	findable("after the move", "How long can customers return what they bought?", "thirty days")
}
