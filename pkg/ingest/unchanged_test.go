package ingest

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/jobs"
)

func TestUnchangedContentCostsNothing(t *testing.T) {
	t.Parallel()
	for name, dimensions := range map[string]int{"": 4, "also when the model has not told its dimensions": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLibrary(t, 100, 4)
			l.models["small"].model.Dimensions = dimensions
			l.must(t, l.job(here))
			if diff := cmp.Diff([]domain.EventType{domain.EventUnchanged}, l.log.types()); diff != "" {
				t.Error(diff)
			}
			if l.originals != 0 || l.models["small"].calls != 0 || l.indexes[here.Engine].writes != 0 || l.indexes[here.Engine].reads != 0 {
				t.Errorf("%d originals read, %d calls of the model, %d writes, %d pages of rows read",
					l.originals, l.models["small"].calls, l.indexes[here.Engine].writes, l.indexes[here.Engine].reads)
			}
		})
	}
}

func TestContentIsWritten(t *testing.T) {
	t.Parallel()
	tests := map[string]func(l *library, j *domain.Job){
		"it is asked for":                  func(_ *library, j *domain.Job) { j.Force = true },
		"a move takes it along":            func(_ *library, j *domain.Job) { j.Move = "move" },
		"it goes to a second place":        func(_ *library, j *domain.Job) { j.Places = append(j.Places, there) },
		"it goes to another place":         func(_ *library, j *domain.Job) { j.Places[0] = elsewhere },
		"readers see nothing yet":          func(_ *library, j *domain.Job) { j.Previous = nil },
		"the bytes are others":             func(_ *library, j *domain.Job) { j.Original.SHA256 = "other" },
		"its bytes were never summed up":   func(_ *library, j *domain.Job) { j.Original.SHA256 = ""; j.Previous.Fingerprint = "" },
		"a row is missing":                 func(l *library, _ *domain.Job) { l.drop(1) },
		"all rows are missing":             func(l *library, _ *domain.Job) { l.drop(100) },
		"the version before was not whole": func(l *library, j *domain.Job) { j.Previous.Chunks = 0; l.drop(100) },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLibrary(t, 100, 4)
			job := l.job(here)
			change(l, &job)
			l.must(t, job)
			if ev := l.log.last(t, domain.EventSynched); ev.Chunks != 100 {
				t.Errorf("%d chunks", ev.Chunks)
			}
			l.verify(t, job, job.Places[0])
		})
	}
}

// drop removes the first n rows in the place `here`.
func (l *library) drop(n int) {
	for space, rows := range l.indexes[here.Engine].rows {
		l.indexes[here.Engine].rows[space] = rows[n:]
	}
}

func TestAnIndexThatCannotCountIsAskedAgain(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, 3, 4)
	l.indexes[here.Engine].fail = errDown
	if err := l.handle(t, l.job(here)); !errors.Is(err, errDown) || jobs.IsPermanent(err) {
		t.Errorf("err = %v", err)
	}
}

func TestAFingerprintCoversAllInputs(t *testing.T) {
	t.Parallel()
	p := newPipeline(1)
	base := func() domain.Job {
		j := ingestJob()
		j.Metadata = map[string]any{"lang": "en", "year": 2026.0, "tags": map[string]any{"b": true, "a": nil}}
		return j
	}
	want := p.fingerprint(t, base())
	if len(want) != 64 {
		t.Fatalf("the fingerprint is %q, not a SHA-256 in hexadecimal", want)
	}
	for name, change := range map[string]func(*domain.Job){
		"the content":       func(j *domain.Job) { j.Original.SHA256 = "other" },
		"the file's name":   func(j *domain.Job) { j.Original.Name = "handbook.txt" },
		"the declared type": func(j *domain.Job) { j.Original.MIMEType = "text/plain" },
		"the name":          func(j *domain.Job) { j.Name = "manual" },
		"the custom id":     func(j *domain.Job) { j.CustomID = "" },
		"the metadata":      func(j *domain.Job) { j.Metadata["year"] = 2027.0 },
		"that it is a page": func(j *domain.Job) { j.Type = domain.TypeWebPage },
	} {
		j := base()
		change(&j)
		if p.fingerprint(t, j) == want {
			t.Errorf("%s does not count", name)
		}
	}
	for name, change := range map[string]func(*domain.Job){
		"the job":       func(j *domain.Job) { j.ID, j.Generation, j.Delivery = "other", 99, 3 },
		"the places":    func(j *domain.Job) { j.Places = []domain.Place{there, elsewhere} },
		"the version":   func(j *domain.Job) { j.Previous, j.Force, j.Move = &domain.Version{}, true, "move" },
		"where it lies": func(j *domain.Job) { j.Original.Key = "elsewhere" },
		"its site":      func(j *domain.Job) { j.GroupID = "site" },
	} {
		j := base()
		change(&j)
		if p.fingerprint(t, j) != want {
			t.Errorf("%s counts", name)
		}
	}
	none, empty := base(), base()
	none.Metadata, empty.Metadata = nil, map[string]any{}
	if p.fingerprint(t, none) != p.fingerprint(t, empty) {
		t.Error("no metadata and empty metadata differ")
	}
}

func TestAWebPageWithUnchangedTextIsNotEmbedded(t *testing.T) {
	t.Parallel()
	page := func(l *library, sha string) domain.Job {
		j := l.job(here)
		j.Type, j.Original = domain.TypeWebPage, &domain.Original{Key: "key", SHA256: sha, Name: "https://pumps.example/a", MIMEType: "text/html"}
		return j
	}
	read := func(t *testing.T) *library {
		l := newLibrary(t, 100, 4)
		l.must(t, page(l, "first"))
		l.reset()
		l.models["small"].calls = 0
		return l
	}
	t.Run("in other bytes", func(t *testing.T) {
		t.Parallel()
		l := read(t)
		l.must(t, page(l, "second"))
		ev := l.log.last(t, domain.EventUnchanged)
		l.previous.Fingerprint = ev.Fingerprint
		l.must(t, page(l, "second"))
		l.log.last(t, domain.EventUnchanged)
		if l.originals != 1 || l.models["small"].calls != 0 || l.indexes[here.Engine].writes != 0 {
			t.Errorf("%d originals read, %d calls of the model, %d writes", l.originals, l.models["small"].calls, l.indexes[here.Engine].writes)
		}
	})
	for name, change := range map[string]func(*library, *domain.Job){
		// The index's first 100 rows were written by newLibrary. Dropping 101 rows therefore removes one of the rows
		// that the page's first job wrote.
		"unless a row is missing":      func(l *library, _ *domain.Job) { l.drop(101) },
		"unless it is asked for":       func(_ *library, j *domain.Job) { j.Force = true },
		"unless its address is other":  func(_ *library, j *domain.Job) { j.Original.Name = "https://pumps.example/b" },
		"unless its metadata is other": func(_ *library, j *domain.Job) { j.Metadata = map[string]any{"lang": "de"} },
		"unless it is no page":         func(_ *library, j *domain.Job) { j.Type = domain.TypeFile },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := read(t)
			job := page(l, "second")
			change(l, &job)
			l.must(t, job)
			l.log.last(t, domain.EventSynched)
		})
	}
}

func TestATextIDCoversVisibleText(t *testing.T) {
	t.Parallel()
	i := newPipeline(1).ingestor()
	job := ingestJob()
	job.Type = domain.TypeWebPage
	id := func(change func(d *domain.Document, c *domain.Chunk)) string {
		doc := &domain.Document{Title: "Pumps", MIMEType: "text/html", Route: "html", Metadata: map[string]string{"modified": "2026-11-26", "author": "Ann"}}
		chunk := domain.Chunk{Text: "Oil it.\nTime: 19:00\nPage generated at 13:04:05", Heading: "Pumps"}
		change(doc, &chunk)
		chunk.Offset = len(chunk.Text)
		id, err := i.textID(job, doc, []domain.Chunk{chunk})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	text := func(old, instead string) func(*domain.Document, *domain.Chunk) {
		return func(_ *domain.Document, c *domain.Chunk) { c.Text = strings.Replace(c.Text, old, instead, 1) }
	}
	want := id(func(*domain.Document, *domain.Chunk) {})
	for name, change := range map[string]func(*domain.Document, *domain.Chunk){
		"the time at which the page was made": text("13:04:05", "9:11:12"),
		"when it says that it was changed":    func(d *domain.Document, _ *domain.Chunk) { d.Metadata["modified"] = "2026-12-01" },
	} {
		if id(change) != want {
			t.Errorf("%s counts", name)
		}
	}
	for name, change := range map[string]func(*domain.Document, *domain.Chunk){
		"the text":             text("Oil it", "Oil it twice"),
		"the time of an event": text("19:00", "20:00"),
		"the heading":          func(_ *domain.Document, c *domain.Chunk) { c.Heading = "Valves" },
		"the author":           func(d *domain.Document, _ *domain.Chunk) { d.Metadata["author"] = "Bob" },
		"the title":            func(d *domain.Document, _ *domain.Chunk) { d.Title = "Valves" },
		"the description":      func(d *domain.Document, _ *domain.Chunk) { d.Metadata["description"] = "All of them" },
		"that it is links":     func(d *domain.Document, _ *domain.Chunk) { d.LinkList = true },
		"a warning":            func(d *domain.Document, _ *domain.Chunk) { d.Warnings = []string{"A picture is left out."} },
		"the type":             func(d *domain.Document, _ *domain.Chunk) { d.MIMEType = "text/plain" },
		"the route":            func(d *domain.Document, _ *domain.Chunk) { d.Route = "plain" },
	} {
		if id(change) == want {
			t.Errorf("%s does not count", name)
		}
	}
}

func TestRowsAreWrittenToTheSpaceOfEachModel(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, 3, 4)
	job := l.job(here, elsewhere)
	l.must(t, job)
	want := map[index.Space]int{
		{DatastoreID: "store", Model: "small", Dimensions: 4}: 6,
		{DatastoreID: "store", Model: "large", Dimensions: 5}: 3,
	}
	got := make(map[index.Space]int)
	for space, rows := range l.indexes[domain.EngineEmbedded].rows {
		got[space] = len(rows)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
