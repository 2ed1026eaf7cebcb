package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded"
)

// document is one of the documents that a kill test puts in. Its word occurs in it and nowhere else.
type document struct {
	customID, name string
	content        []byte
	word, oldWord  string
	id             string
	deleted        bool
}

// mixedDocuments makes n documents of all formats that can be written by hand, some of several chunks.
func mixedDocuments(n int) []*document {
	docs := make([]*document, n)
	for i := range docs {
		word := fmt.Sprintf("quokka%04dx", i)
		d := &document{customID: fmt.Sprintf("doc-%04d", i), word: word}
		long := strings.Repeat(fmt.Sprintf("Paragraph about item %d and the way it is kept, counted and handed on. ", i), 30*(i%5))
		switch i % 5 {
		case 0:
			d.name, d.content = "note.txt", []byte("A note that mentions "+word+" once.\n\n"+long)
		case 1:
			d.name, d.content = "page.md", []byte("# Chapter\n\nIt says "+word+" here.\n\n## More\n\n"+long)
		case 2:
			d.name, d.content = "table.csv", []byte("name,value\n"+word+",17\nother,18\n")
		case 3:
			d.name, d.content = "page.html", []byte("<!doctype html><title>Page</title><h1>Head</h1><p>About "+word+".</p><p>"+long+"</p>")
		case 4:
			d.name, d.content = "data.json", []byte(`{"subject": "`+word+`", "text": "`+long+`"}`)
		}
		docs[i] = d
	}
	return docs
}

// TestNothingIsLostWhenTheProcessIsKilled kills the process at random moments while documents are put in, replaced and
// deleted. In the end every accepted document is synched, every chunk is there exactly once, and nothing deleted or
// replaced comes back.
func TestNothingIsLostWhenTheProcessIsKilled(t *testing.T) {
	rounds := 50
	if testing.Short() {
		rounds = 5
	}
	const perRound = 4
	random := rand.New(rand.NewPCG(2026, 11))
	docs := mixedDocuments(rounds * perRound)
	p := newProgram(t)
	p.start()
	store := p.newDatastore()
	starts := make([]time.Duration, 0, rounds)
	for round := range rounds {
		life := time.Duration(random.IntN(400)) * time.Millisecond
		killed := make(chan struct{})
		timer := time.AfterFunc(life, func() { _ = p.cmd.Process.Kill(); close(killed) })
		// What the process does not survive to answer is put in again in a later round.
		for _, d := range docs[:(round+1)*perRound] {
			if d.id == "" {
				p.putIn(store, d)
			}
		}
		if round > 0 {
			p.disturb(store, docs[(round-1)*perRound:round*perRound], round)
		}
		<-killed
		timer.Stop()
		<-p.exited
		p.exited <- nil
		starts = append(starts, p.start())
	}
	for _, d := range docs {
		if d.id == "" && !p.putIn(store, d) {
			t.Fatalf("%s cannot be put in", d.customID)
		}
	}
	p.checkSources(docs, p.settled(store, 2*time.Minute))
	p.checkQueries(store, docs)
	if err := p.terminate(); err != nil {
		t.Fatalf("the last stop: %v", err)
	}
	checkRows(t, p.dir, store)
	var slowest time.Duration
	for _, s := range starts {
		slowest = max(slowest, s)
	}
	t.Logf("killed %d times; the slowest start after a kill took %v", rounds, slowest)
}

// putIn uploads a document and reports whether it is known to be accepted. A document whose acceptance was not answered
// may have been accepted: it is looked for first.
func (p *program) putIn(store string, d *document) bool {
	found, err := p.sources(store, d.customID)
	if err != nil {
		return false
	}
	for _, s := range found {
		if s.Config.CustomID == d.customID {
			d.id = s.ID
			return true
		}
	}
	var accepted source
	err = p.upload(store, d.name, d.customID, d.content, &accepted)
	var refused errRefused
	if errors.As(err, &refused) && refused.status != 503 {
		p.t.Fatalf("uploading %s: %v", d.customID, err)
	}
	d.id = accepted.ID
	return err == nil
}

// disturb replaces one of the documents and deletes another. Only what was answered counts.
func (p *program) disturb(store string, docs []*document, round int) {
	if d := docs[0]; d.id != "" && d.oldWord == "" {
		word := d.word + "new"
		body := map[string]any{"id": d.id, "text": "This now says " + word + " only.", "metadata": map[string]string{"custom_id": d.customID}}
		if err := p.post("/datastores/update/"+store, body, nil); err == nil {
			d.oldWord, d.word = d.word, word
		} else if d.oldWord = d.word; true {
			// It may have been accepted. Then the document holds the new word, else the old: find out at the end.
			d.word = d.oldWord + "|" + word
		}
	}
	if d := docs[1]; d.id != "" && round%3 == 0 && p.delete("/datasources/"+d.id) == nil {
		d.deleted = true
	}
}

func (p *program) checkSources(docs []*document, have []source) {
	p.t.Helper()
	byID := map[string]source{}
	for _, s := range have {
		byID[s.ID] = s
	}
	alive := 0
	for _, d := range docs {
		s, ok := byID[d.id]
		switch {
		case d.deleted && ok:
			p.t.Errorf("%s was deleted and is back", d.customID)
		case d.deleted:
		case !ok:
			if err := p.get("/datasources/"+d.id, nil); refusedWith(err, 404) && d.customID[len(d.customID)-1]%2 == 1 {
				continue // its deletion was carried out but not answered
			}
			p.t.Errorf("%s was accepted and is lost", d.customID)
		case s.Status != "synched":
			p.t.Errorf("%s ended with status %s: %s", d.customID, s.Status, s.Error)
		case s.ChunkCount == 0:
			p.t.Errorf("%s is synched without chunks", d.customID)
		}
		if ok {
			alive++
		}
	}
	if alive != len(have) {
		p.t.Errorf("there are %d datasources, %d of them known", len(have), alive)
	}
}

func (p *program) checkQueries(store string, docs []*document) {
	p.t.Helper()
	holds := func(d *document, word string) int {
		n := 0
		for _, f := range p.query(store, word, 10) {
			if f.DatasourceID == d.id && strings.Contains(f.Text, word+" ") || strings.Contains(f.Text, word+".") || strings.Contains(f.Text, word+"\n") ||
				strings.Contains(f.Text, word+";") || strings.HasSuffix(f.Text, word) {
				n++
			}
		}
		return n
	}
	for _, d := range docs {
		before, after, unsure := strings.Cut(d.word, "|")
		switch {
		case d.deleted:
			if n := holds(d, before); n != 0 {
				p.t.Errorf("%s was deleted and %d fragments of it are found", d.customID, n)
			}
		case unsure:
			if n := holds(d, before) + holds(d, after); n > 1 {
				p.t.Errorf("%s has both its old and its new text", d.customID)
			}
		case d.oldWord != "":
			if holds(d, d.word) != 1 || holds(d, d.oldWord) != 0 {
				p.t.Errorf("%s was replaced: new text found %d times, old text %d times", d.customID, holds(d, d.word), holds(d, d.oldWord))
			}
		}
	}
}

// checkRows compares the index with the catalog, row by row, without the program.
func checkRows(t *testing.T, dir, store string) {
	t.Helper()
	ctx := t.Context()
	log := slog.New(slog.DiscardHandler)
	cat, err := catalog.Open(ctx, catalog.Options{Path: filepath.Join(dir, catalogFile), Log: log, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer cat.Close()
	idx, err := embedded.Open(filepath.Join(dir, indexDir), embedded.Options{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	defer idx.Close()
	models, err := openEmbedders(config.Config{})
	if err != nil {
		t.Fatal(err)
	}
	in, err := spaces{cat, models}.Spaces(ctx, store)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int64{}
	err = idx.Stored(ctx, in[0], func(s index.Stored) error {
		rows[fmt.Sprint(s.DatasourceID, " ", s.Generation)] = s.Rows
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = cat.EachActive(ctx, store, func(s catalog.ActiveState) error {
		key := fmt.Sprint(s.DatasourceID, " ", s.Generation)
		if rows[key] != s.Chunks {
			t.Errorf("datasource and generation %s: %d rows, the catalog says %d", key, rows[key], s.Chunks)
		}
		delete(rows, key)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for key, n := range rows {
		t.Errorf("%d stray rows of datasource and generation %s", n, key)
	}
	if t.Failed() {
		b, _ := json.Marshal(rows)
		_ = os.WriteFile(filepath.Join(t.ArtifactDir(), "rows.json"), b, 0o600)
	}
}
