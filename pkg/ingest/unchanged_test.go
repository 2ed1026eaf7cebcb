package ingest

import (
	"errors"
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
			if l.originals != 0 || l.models["small"].calls != 0 || l.shelves[here.Engine].writes != 0 || l.shelves[here.Engine].reads != 0 {
				t.Errorf("%d originals read, %d calls of the model, %d writes, %d pages of rows read",
					l.originals, l.models["small"].calls, l.shelves[here.Engine].writes, l.shelves[here.Engine].reads)
			}
		})
	}
}

func TestContentIsWrittenWhen(t *testing.T) {
	t.Parallel()
	tests := map[string]func(l *library, j *domain.Job){
		"it is asked for":                  func(_ *library, j *domain.Job) { j.Force = true },
		"a move takes it along":            func(_ *library, j *domain.Job) { j.Move = "move" },
		"it goes to a second place":        func(_ *library, j *domain.Job) { j.Places = append(j.Places, there) },
		"it goes to another place":         func(_ *library, j *domain.Job) { j.Places[0] = anew },
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

// drop loses rows of the place here.
func (l *library) drop(n int) {
	for space, rows := range l.shelves[here.Engine].rows {
		l.shelves[here.Engine].rows[space] = rows[n:]
	}
}

func TestAnIndexThatCannotCountIsAskedAgain(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, 3, 4)
	l.shelves[here.Engine].fail = errDown
	if err := l.handle(t, l.job(here)); !errors.Is(err, errDown) || jobs.IsPermanent(err) {
		t.Errorf("err = %v", err)
	}
}

func TestAFingerprintIsOfEverythingThatRowsFollowFrom(t *testing.T) {
	t.Parallel()
	p := newPipeline(1)
	base := func() domain.Job {
		j := ingestJob()
		j.Metadata = map[string]any{"lang": "en", "year": 2026.0, "tags": map[string]any{"b": true, "a": nil}}
		return j
	}
	want := p.fingerprint(t, base())
	if len(want) != 64 {
		t.Fatalf("it is %q, not a SHA-256 in hexadecimal", want)
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
		"the places":    func(j *domain.Job) { j.Places = []domain.Place{there, anew} },
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

func TestAWebPageWhoseTextIsAsItWasCostsNoEmbedding(t *testing.T) {
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
		l.log.last(t, domain.EventUnchanged)
		if l.originals != 1 || l.models["small"].calls != 0 || l.shelves[here.Engine].writes != 0 {
			t.Errorf("%d originals read, %d calls of the model, %d writes", l.originals, l.models["small"].calls, l.shelves[here.Engine].writes)
		}
	})
	for name, change := range map[string]func(*library, *domain.Job){
		"unless a row is missing":      func(l *library, _ *domain.Job) { l.drop(101) }, // the first 100 are of the version before
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

func TestATextIDIsOfWhatReadersSee(t *testing.T) {
	t.Parallel()
	i := newPipeline(1).ingestor()
	job := ingestJob()
	job.Type = domain.TypeWebPage
	id := func(text, heading string, document map[string]any) string {
		id, err := i.textID(job, []domain.Chunk{{Text: text, Heading: heading, Offset: len(text)}}, map[string]any{"document": document})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	want := id("Oil it.\nGenerated at 13:04:05", "Pumps", map[string]any{"modified": "2026-11-26", "author": "Ann"})
	for name, same := range map[string]string{
		"the time at which the page was made": id("Oil it.\nGenerated at 9:11:12", "Pumps", map[string]any{"modified": "2026-11-26", "author": "Ann"}),
		"when it says that it was changed":    id("Oil it.\nGenerated at 13:04:05", "Pumps", map[string]any{"modified": "2026-12-01", "author": "Ann"}),
	} {
		if same != want {
			t.Errorf("%s counts", name)
		}
	}
	for name, other := range map[string]string{
		"the text":    id("Oil it twice.\nGenerated at 13:04:05", "Pumps", map[string]any{"author": "Ann"}),
		"the heading": id("Oil it.\nGenerated at 13:04:05", "Valves", map[string]any{"author": "Ann"}),
		"the author":  id("Oil it.\nGenerated at 13:04:05", "Pumps", map[string]any{"author": "Bob"}),
	} {
		if other == want {
			t.Errorf("%s does not count", name)
		}
	}
}

func TestWritingGoesToTheSpaceOfEachModel(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, 3, 4)
	job := l.job(here, anew)
	l.must(t, job)
	want := map[index.Space]int{
		{DatastoreID: "store", Model: "small", Dimensions: 4}: 6,
		{DatastoreID: "store", Model: "large", Dimensions: 5}: 3,
	}
	got := make(map[index.Space]int)
	for space, rows := range l.shelves[domain.EngineEmbedded].rows {
		got[space] = len(rows)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
