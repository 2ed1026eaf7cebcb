package app

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	local "github.com/sluice/sluice/tools/local/engines"
)

// datastoreInfo is a datastore as returned by the API.
type datastoreInfo struct {
	Type, EmbeddingModel string
	Move                 *struct {
		Type, EmbeddingModel, Status string
		Done, Total, Failed          int
		Error                        *string
	}
}

func (p *program) datastoreInfo(store string) (s datastoreInfo) {
	p.t.Helper()
	p.must(p.get("/datastores/"+store, &s))
	return s
}

// moveTo requests a change to a datastore's engine or model.
func (p *program) moveTo(store string, change string) (s datastoreInfo) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	p.must(p.call(ctx, http.MethodPatch, "/datastores/"+store, "application/json", strings.NewReader(change), &s))
	return s
}

// moved waits until the datastore uses the engine and returns the progress reported until then.
func (p *program) moved(store, engine string, timeout time.Duration) (seen []string) {
	p.t.Helper()
	deadline := time.After(timeout)
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for {
		s := p.datastoreInfo(store)
		if s.Move == nil {
			if s.Type != engine {
				p.t.Fatalf("the move has ended in %s", s.Type)
			}
			return seen
		}
		now := fmt.Sprintf("%d/%d", s.Move.Done, s.Move.Total)
		if len(seen) == 0 || seen[len(seen)-1] != now {
			seen = append(seen, now)
		}
		select {
		case <-deadline:
			p.t.Fatalf("after %v the datastore has not arrived: %+v\n%s", timeout, *s.Move, tail(p.stderr.String(), 3000))
		case <-poll.C:
		}
	}
}

// fill adds documents with several chunks each and returns the number of chunks.
func (p *program) fill(store string, documents int) (chunks int) {
	p.t.Helper()
	var batch []map[string]any
	for i := range documents {
		var text strings.Builder
		for s := range 10 {
			fmt.Fprintf(&text, "# Section %d of document %d\n\nThe word here is numbat%04dx%d. %s\n\n", s, i, i, s,
				strings.Repeat(fmt.Sprintf("It tells of item %d and how it is kept. ", s), 12))
		}
		batch = append(batch, map[string]any{"text": text.String(), "name": fmt.Sprintf("doc-%d.md", i), "metadata": map[string]string{"custom_id": fmt.Sprint(i)}})
		if len(batch) == 100 || i == documents-1 {
			p.must(p.post("/api/datastores/upsert/"+store, map[string]any{"documents": batch}, nil))
			batch = nil
		}
	}
	for _, s := range p.settled(store, 3*time.Minute) {
		if s.Status != "synched" {
			p.t.Fatalf("%s: %s", s.Name, s.Error)
		}
		chunks += s.Chunks
	}
	return chunks
}

// TestADatastoreMovesWithoutAFailedOrEmptyQuery moves 2,500 chunks to Milvus and back under constant queries,
// replacements and additions.
func TestADatastoreMovesWithoutAFailedOrEmptyQuery(t *testing.T) {
	t.Parallel()
	const documents = 250
	p := newProgram(t, "MILVUS_ADDR="+local.MilvusLiteForTest(t))
	p.start()
	var made struct{ ID string }
	p.must(p.post("/datastores", map[string]string{"name": "moving", "type": "embedded"}, &made))
	store := made.ID
	if n := p.fill(store, documents); n < 10*documents {
		t.Fatalf("%d chunks", n)
	} else {
		t.Logf("%d chunks", n)
	}

	queries, stop := context.WithCancel(t.Context())
	defer stop()
	var asking sync.WaitGroup
	var asked [2]int
	for worker := range asked {
		asking.Go(func() {
			pace := time.NewTicker(10 * time.Millisecond) // leaves the processors to the move
			defer pace.Stop()
			for i := worker; queries.Err() == nil; i++ {
				<-pace.C
				word := fmt.Sprintf("numbat%04dx%d", i*7%documents, i%10)
				var found []fragment
				if err := p.post("/datastores/"+store+"/query", map[string]any{"query": "Which section has the word " + word + "?", "topK": 5}, &found); err != nil {
					t.Errorf("query %d failed: %v", i, err)
					return
				}
				if len(found) == 0 || !strings.Contains(found[0].Text, word) {
					t.Errorf("query %d for %s found %d fragments, the first %.60q", i, word, len(found), append(found, fragment{})[0].Text)
					return
				}
				asked[worker]++
			}
		})
	}
	for _, engine := range []string{"milvus", "embedded"} {
		began := time.Now()
		if s := p.moveTo(store, `{"type": "`+engine+`"}`); s.Type == engine || s.Move == nil || s.Move.Type != engine {
			t.Fatalf("after the PATCH the datastore is %+v", s)
		}
		// Documents added during the move must be searchable at once, in both the old place and the new one.
		p.must(p.post("/api/datastores/upsert/"+store, map[string]any{"documents": []map[string]any{
			{"text": "New while it moved to " + engine + ": the dugong.", "name": "new", "metadata": map[string]string{"custom_id": "new-" + engine}},
		}}, nil))
		seen := p.moved(store, engine, 3*time.Minute)
		t.Logf("moved to %s in %v, progress seen %d times", engine, time.Since(began).Round(time.Millisecond), len(seen))
		if len(seen) < 2 {
			t.Errorf("the progress could not be seen: %v", seen)
		}
		if found := p.query(store, "dugong "+engine, 3); len(found) == 0 || !strings.Contains(found[0].Text, "dugong") {
			t.Errorf("content added during the move is not found: %+v", found)
		}
	}
	stop()
	asking.Wait()
	t.Logf("%d queries", asked[0]+asked[1])
	if asked[0]+asked[1] < 50 {
		t.Errorf("only %d queries were asked", asked[0]+asked[1])
	}
}

// TestAMoveIsReplacedCancelledAndSurvivesAKill changes the destination of a datastore that is being moved, cancels a
// move, and kills the program during another one.
func TestAMoveIsReplacedCancelledAndSurvivesAKill(t *testing.T) {
	t.Parallel()
	model := newModelServer(t)
	p := newProgram(t, "MILVUS_ADDR="+local.MilvusLiteForTest(t), "OPENAI_BASE_URL="+model.URL+"/v1", "SLUICE_EMBED_MODEL=tiny")
	p.start()
	var made struct{ ID string }
	p.must(p.post("/datastores", map[string]string{"name": "moving", "type": "embedded", "embeddingModel": "builtin-en-256-v1"}, &made))
	store := made.ID
	p.fill(store, 60)
	findable := func(when string) {
		t.Helper()
		if found := p.query(store, "numbat0042x3", 3); len(found) == 0 || !strings.Contains(found[0].Text, "numbat0042x3") {
			t.Errorf("%s it is not found: %+v", when, found)
		}
	}
	// Start a move to Milvus, replace it with a move to another model, and cancel the second move.
	p.moveTo(store, `{"type": "milvus"}`)
	s := p.moveTo(store, `{"type": "embedded", "embeddingModel": "openai:tiny"}`)
	if s.Move == nil || s.Move.Type != "embedded" || s.Move.EmbeddingModel != "openai:tiny" {
		t.Errorf("the second PATCH does not replace the move: %+v", s)
	}
	findable("while it moves to another model")
	if s := p.moveTo(store, `{"type": "embedded", "embeddingModel": "builtin-en-256-v1"}`); s.Move != nil || s.Type != "embedded" {
		t.Errorf("the move is not cancelled: %+v", s)
	}
	for _, d := range p.settled(store, time.Minute) {
		if d.Status != "synched" {
			t.Errorf("after the cancelled move %s is %s: %s", d.Name, d.Status, d.Error)
		}
	}
	findable("after the cancelled move")

	// Kill the program in the middle of a move.
	p.moveTo(store, `{"type": "milvus", "embeddingModel": "openai:tiny"}`)
	p.kill()
	p.start()
	p.moved(store, "milvus", 2*time.Minute)
	if s := p.datastoreInfo(store); s.EmbeddingModel != "openai:tiny" {
		t.Errorf("after the move, the model is %s", s.EmbeddingModel)
	}
	findable("after the move that was killed")

	// A failing model stops the move and is reported. Searches are unaffected.
	p.moveTo(store, `{"embeddingModel": "builtin-en-256-v1"}`)
	p.moved(store, "milvus", time.Minute)
	p.must(p.terminate())
	p.start() // the restart also clears the cache of the model's vectors
	model.refuse.Store(true)
	p.moveTo(store, `{"embeddingModel": "openai:tiny"}`)
	deadline := time.After(time.Minute)
	for held := false; !held; {
		s := p.datastoreInfo(store)
		if s.Move == nil {
			t.Fatal("the datastore moved to a model that rejects everything")
		}
		held = s.Move.Status == "held" && s.Move.Failed == s.Move.Total && s.Move.Error != nil && strings.Contains(*s.Move.Error, "rejects requests")
		select {
		case <-deadline:
			t.Fatalf("the move is not held: %+v", *s.Move)
		case <-time.After(50 * time.Millisecond):
		}
	}
	findable("while its move is held")
	p.moveTo(store, `{"embeddingModel": "builtin-en-256-v1"}`)
	for _, d := range p.settled(store, time.Minute) {
		if d.Status != "synched" {
			t.Errorf("after the held move was cancelled %s is %s: %s", d.Name, d.Status, d.Error)
		}
	}
	findable("in the end")
}
