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
