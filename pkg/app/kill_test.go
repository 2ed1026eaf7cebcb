package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/control"
	"github.com/sluice/sluice/pkg/datadir"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded"
)

// document is a document in a kill test. Its word occurs in no other document.
type document struct {
	customID, name string
	content        []byte
	word           string
	id             string // "" until the service is known to have accepted the document
	replaced       reply  // replaced by a text with newWord instead of word
	deleted        reply
}

func (d *document) newWord() string { return d.word + "new" }

// reply is what the client knows about a request. A killed process may have executed it without answering.
type reply int

const (
	notAsked reply = iota
	unanswered
	confirmed
)

func answered(err error) reply {
	if err != nil {
		return unanswered
	}
	return confirmed
}

// binaries are sample documents that contain no unique word.
var binaries = []string{"aurora-x2-manual.pdf", "employee-handbook.docx", "price-list.xlsx", "roadmap.pptx"}

// mixedDocuments returns n documents in all formats, some of them with several chunks. Every tenth is from binaries and
// has no unique word.
func mixedDocuments(t testing.TB, n int) []*document {
	t.Helper()
	docs := make([]*document, n)
	for i := range docs {
		if i%10 == 9 {
			name := binaries[i/10%len(binaries)]
			content, err := os.ReadFile(filepath.Join(documents, name))
			if err != nil {
				t.Fatal(err)
			}
			docs[i] = &document{customID: fmt.Sprintf("doc-%04d", i), name: name, content: content}
			continue
		}
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

// TestNothingIsLostWhenTheProcessIsKilled kills the process at random moments while documents are added, replaced and
// deleted. In the end, every accepted document must be searchable, every chunk must exist exactly once, and deleted or
// replaced content must be gone.
func TestNothingIsLostWhenTheProcessIsKilled(t *testing.T) {
	t.Parallel()
	rounds := 50
	if testing.Short() {
		rounds = 5
	}
	const perRound = 4
	random := rand.New(rand.NewPCG(2026, 11))
	docs := mixedDocuments(t, rounds*perRound)
	p := newProgram(t)
	p.start()
	store := p.newDatastore()
	starts := make([]time.Duration, 0, rounds)
	for round := range rounds {
		life := time.Duration(random.IntN(400)) * time.Millisecond
		killed := make(chan struct{})
		timer := time.AfterFunc(life, func() { _ = p.cmd.Process.Kill(); close(killed) })
		// If the process was killed before it answered, a later round adds the document again.
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

// putIn uploads a document, unless an earlier upload that got no response has already created it. It reports whether
// the document is known to be accepted.
func (p *program) putIn(store string, d *document) bool {
	found, err := p.sources(store, d.customID)
	if err != nil {
		return false
	}
	for _, s := range found {
		if s.CustomID == d.customID {
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

// disturb replaces one document and, in every third round, deletes another.
func (p *program) disturb(store string, docs []*document, round int) {
	if d := docs[0]; d.id != "" {
		d.replaced = answered(p.post("/datastores/update/"+store, map[string]any{
			"id": d.id, "text": "This now says " + d.newWord() + " only.", "metadata": map[string]string{"custom_id": d.customID},
		}, nil))
	}
	if d := docs[1]; d.id != "" && round%3 == 0 {
		d.deleted = answered(p.delete("/datasources/" + d.id))
	}
}

func (p *program) checkSources(docs []*document, have []source) {
	p.t.Helper()
	byID := map[string]source{}
	for _, s := range have {
		byID[s.ID] = s
	}
	for _, d := range docs {
		s, ok := byID[d.id]
		delete(byID, d.id)
		switch {
		case !ok && d.deleted == notAsked:
			p.t.Errorf("%s was accepted and is lost", d.customID)
		case ok && d.deleted == confirmed:
			p.t.Errorf("%s was deleted and is back", d.customID)
		case ok && (s.Status != "synched" || s.Chunks == 0):
			p.t.Errorf("%s ended with status %s and %d chunks: %s", d.customID, s.Status, s.Chunks, s.Error)
		}
	}
	for _, s := range byID {
		p.t.Errorf("%s (%s) was put in twice", s.Name, s.CustomID)
	}
}

// checkQueries searches for each document's current word. Each document must be found exactly once.
func (p *program) checkQueries(store string, docs []*document) {
	p.t.Helper()
	for _, d := range docs {
		if d.word == "" {
			continue
		}
		old, current := p.countHits(store, d.word), p.countHits(store, d.newWord())
		want := "1 and 0"
		if d.replaced == confirmed {
			want = "0 and 1"
		}
		if d.deleted == confirmed {
			want = "0 and 0"
		}
		got := fmt.Sprintf("%d and %d", old, current)
		unsure := d.replaced == unanswered && old+current == 1 || d.deleted == unanswered && old+current == 0
		if got != want && !unsure {
			p.t.Errorf("%s: old and new text are found %s times, want %s", d.customID, got, want)
		}
	}
}

// countHits returns how many fragments containing the word a query finds.
func (p *program) countHits(store, word string) int {
	n := 0
	whole := regexp.MustCompile(`\b` + word + `\b`)
	for _, f := range p.query(store, word, 10) {
		if whole.MatchString(f.Text) {
			n++
		}
	}
	return n
}

// checkRows compares the index with the catalog, row by row. An audit must find no missing rows, and after its sweeps
// the index must contain exactly the active generations' rows. The program must not be running.
func checkRows(t *testing.T, dir, store string) {
	t.Helper()
	ctx := t.Context()
	log := slog.New(slog.DiscardHandler)
	cat, err := catalog.Open(ctx, catalog.Options{Path: filepath.Join(dir, datadir.Catalog), Log: log, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer cat.Close()
	idx, err := embedded.Open(filepath.Join(dir, datadir.Index), embedded.Options{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	defer idx.Close()
	where := controlledEngines{&engines{embedded: idx}}
	later := func() time.Time { return time.Now().Add(time.Hour) } // otherwise the audit would ignore very recent rows
	auditor := control.Auditor{Catalog: cat, Engines: where, Originals: noOriginals{}, Log: log, Now: later}
	report, err := auditor.Audit(ctx, control.Scope{}, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	if report.Missing > 0 {
		t.Errorf("the audit found %d datasources incomplete", report.Missing)
	}
	t.Logf("the audit found %d stray rows, which no query could see", report.StrayRows)
	spaces, err := idx.Spaces(ctx, store)
	if err != nil || len(spaces) != 1 {
		t.Fatalf("the datastore has spaces %v: %v", spaces, err)
	}
	in := spaces[0]
	tasks, err := cat.Sweeps(ctx, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var swept []index.Generations
	for _, task := range tasks {
		if task.Below > 0 {
			swept = append(swept, index.Generations{DatasourceID: task.DatasourceID, From: task.From, Below: task.Below})
		}
	}
	if err := idx.DeleteGenerations(ctx, in, swept...); err != nil {
		t.Fatal(err)
	}
	rows := map[string]int64{}
	err = idx.Stored(ctx, in, func(s index.Stored) error {
		rows[fmt.Sprint(s.DatasourceID, " ", s.Generation)] = s.Rows
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{}
	err = cat.EachActive(ctx, store, func(s catalog.ActiveState) error {
		if s.Generation > 0 { // archives have no rows
			want[fmt.Sprint(s.DatasourceID, " ", s.Generation)] = s.Chunks
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("rows by datasource and generation (-catalog +index):\n%s", diff)
	}
}

// noOriginals is an empty originals store, for audits of rows only.
type noOriginals struct{}

func (noOriginals) Each(context.Context, func(string, int64, time.Time) error) error { return nil }
func (noOriginals) Verify(context.Context, string) error                             { return nil }
func (noOriginals) Exists(context.Context, string) (bool, error)                     { return true, nil }

// TestDeletedTextsStayDeletedAfterAKill replaces texts, deletes some of them, and then kills the program. After the
// restart, the job log contains the deleted texts' first jobs again. A repair must not restore the texts from these
// jobs.
func TestDeletedTextsStayDeletedAfterAKill(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	store := p.newDatastore()
	const texts = 4
	var put struct{ IDs []string }
	for version := range 3 {
		var documents []map[string]any
		for n := range texts {
			id := fmt.Sprintf("text-%d", n)
			documents = append(documents, map[string]any{"custom_id": id, "text": fmt.Sprintf("This is %s in version %d.", id, version)})
		}
		p.must(p.post("/datastores/upsert/"+store, map[string]any{"documents": documents}, &put))
		p.settled(store, time.Minute)
	}
	for _, id := range put.IDs[1:] {
		p.must(p.delete("/datasources/" + id))
	}
	p.swept()
	p.kill()
	p.start()
	p.says(p.repair(), "1 datasource checked: "+consistent)
	if have := p.settled(store, time.Minute); len(have) != 1 || have[0].ID != put.IDs[0] {
		t.Errorf("%d datasources exist, want the one that was not deleted: %+v", len(have), have)
	}
	p.swept() // the jobs are removed again
}
