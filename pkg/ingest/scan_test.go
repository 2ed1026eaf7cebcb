package ingest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/jobs"
)

func TestAScannedDocumentIsLeftToAScanJob(t *testing.T) {
	t.Parallel()
	p := newPipeline(2)
	p.extract = func(r extract.Request) (*domain.Document, error) {
		if !r.Defer {
			t.Error("the text would be recognised at once")
		}
		return nil, &extract.Error{Kind: extract.Scanned, Message: "page 1 is scanned", Pages: []int{1}}
	}
	job := ingestJob()
	job.Force = true
	if err := p.handle(t, job); !jobs.IsRescheduled(err) {
		t.Fatalf("the job ended with %v", err)
	}
	if len(p.log.events) != 1 || p.log.events[0].Type != domain.EventPostponed || !p.log.events[0].Force {
		t.Errorf("the events are %+v", p.log.events)
	}
}

func TestFragmentsOfRecognisedPagesSayHowConfidentTheRecognitionWas(t *testing.T) {
	t.Parallel()
	p := newPipeline(2)
	p.extract = func(r extract.Request) (*domain.Document, error) {
		if r.Defer {
			t.Error("a scan job leaves the text to another job")
		}
		return &domain.Document{Title: "Pumps", MIMEType: "application/pdf", Recognised: map[int]float64{2: 0.87654}}, nil
	}
	p.chunks = func(*domain.Document) ([]domain.Chunk, error) {
		return []domain.Chunk{{Text: "text", Page: 1}, {Text: "scan", Page: 2, Ordinal: 1}}, nil
	}
	job := ingestJob()
	job.Kind = domain.JobScan
	if err := p.handle(t, job); err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	for _, row := range p.rows {
		got = append(got, row.Metadata)
	}
	want := []map[string]any{
		{"lang": "en", "document": map[string]any{"title": "Pumps"}},
		{"lang": "en", "document": map[string]any{"title": "Pumps", "ocrConfidence": 0.877}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	if p.fingerprint(t, job) == p.fingerprint(t, ingestJob()) {
		t.Error("the rows have the fingerprint of those without recognised text")
	}
}

// reportDocument has a picture with unread text.
func reportDocument() *domain.Document {
	return &domain.Document{Title: "Report", MIMEType: "application/pdf", Unread: []domain.Picture{{Number: 1, Key: "k", Places: 1}}}
}

func TestTheTextAroundPicturesIsIndexedBeforeTheTextInThem(t *testing.T) {
	t.Parallel()
	p := newPipeline(2)
	p.extract = func(extract.Request) (*domain.Document, error) { return reportDocument(), nil }
	job := ingestJob()
	job.Force = true
	if err := p.handle(t, job); err != nil {
		t.Fatal(err)
	}
	ev := p.log.last(t, domain.EventSynched)
	if !ev.Scan || !ev.Force || ev.Chunks != 2 || len(p.rows) != 2 || ev.Fingerprint+ev.Inputs+ev.TextID != "" {
		t.Errorf("there are %d rows and the event %+v", len(p.rows), ev)
	}

	job.Kind = domain.JobScan
	p.extract = func(extract.Request) (*domain.Document, error) {
		doc := reportDocument()
		doc.Unread = nil
		return doc, nil
	}
	if err := p.handle(t, job); err != nil {
		t.Fatal(err)
	}
	if ev := p.log.last(t, domain.EventSynched); ev.Scan || ev.Fingerprint == "" {
		t.Errorf("after the scan job, the event is %+v", ev)
	}
}

func TestTheTextAroundPicturesDoesNotReplaceAVersionThatHasTheTextInThem(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*ingestorFixture, *domain.Job){
		"a move": func(_ *ingestorFixture, job *domain.Job) { job.Move = "move" },
		"a web page": func(_ *ingestorFixture, job *domain.Job) {
			job.Type, job.Previous = domain.TypeWebPage, &domain.Version{Place: job.Places[0], Generation: 1, Chunks: 1}
		},
		"a repetition": func(p *ingestorFixture, job *domain.Job) {
			scan := *job
			scan.Kind = domain.JobScan
			job.Force, job.Previous = true, &domain.Version{Place: job.Places[0], Generation: 1, Chunks: 1, Fingerprint: p.fingerprint(t, scan)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPipeline(2)
			p.extract = func(extract.Request) (*domain.Document, error) { return reportDocument(), nil }
			job := ingestJob()
			change(p, &job)
			if err := p.handle(t, job); !jobs.IsRescheduled(err) {
				t.Fatalf("the job ended with %v", err)
			}
			if ev := p.log.last(t, domain.EventPostponed); len(p.rows) > 0 || ev.Scan {
				t.Errorf("there are %d rows and the event %+v", len(p.rows), ev)
			}
		})
	}
}

func TestFragmentsWithTextFromPicturesSayHowConfidentTheRecognitionWas(t *testing.T) {
	t.Parallel()
	p := newPipeline(2)
	p.extract = func(extract.Request) (*domain.Document, error) {
		return &domain.Document{MIMEType: "application/pdf", Blocks: []domain.Block{
			{Kind: domain.BlockParagraph, Text: "text"}, {Kind: domain.BlockParagraph, Text: "picture", Offset: 6, Confidence: 0.87654},
		}}, nil
	}
	p.chunks = func(*domain.Document) ([]domain.Chunk, error) {
		return []domain.Chunk{{Text: "text"}, {Text: "picture", Ordinal: 1, Offset: 6}}, nil
	}
	if err := p.handle(t, ingestJob()); err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for _, row := range p.rows {
		got[row.Text] = row.Metadata["document"]
	}
	want := map[string]any{"text": nil, "picture": map[string]any{"ocrConfidence": 0.877}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
}
