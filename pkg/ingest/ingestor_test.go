package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/jobs"
	"github.com/sluice/sluice/pkg/originals"
)

func TestAFastDocumentIsReportedOnce(t *testing.T) {
	t.Parallel()
	p := newPipeline(2)
	if err := p.handle(t, ingestJob()); err != nil {
		t.Fatal(err)
	}
	event := func(typ domain.EventType, change func(*domain.Event)) domain.Event {
		ev := domain.Event{
			Type: typ, JobID: "job", JobKind: domain.JobIngest, WorkspaceID: "ws", DatastoreID: "store", DatasourceID: "src",
			Generation: 7, Places: ingestJob().Places, At: at,
		}
		change(&ev)
		return ev
	}
	want := []domain.Event{
		event(domain.EventSynched, func(ev *domain.Event) {
			ev.Chunks, ev.Bytes, ev.EmbedTokens, ev.MIMEType, ev.Warnings = 2, 8, 2, "application/pdf", []string{"page 3 has no text"}
			ev.Document = &domain.DocumentInfo{Title: "Pumps"}
			ev.Fingerprint, ev.Inputs = p.fingerprint(t, ingestJob()), ingestJob().Inputs()
		}),
	}
	if diff := cmp.Diff(want, p.log.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	row := index.Row{
		Key: domain.ChunkKey("src", 7, 0), DatasourceID: "src", Generation: 7, CustomID: "custom", Text: "text", Context: "Pumps",
		Metadata: map[string]any{"lang": "en", "document": map[string]any{"title": "Pumps"}}, Vector: []float32{1, 0},
	}
	second := row
	second.Key, second.Ordinal = domain.ChunkKey("src", 7, 1), 1
	if diff := cmp.Diff([]index.Row{row, second}, p.rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]index.Space{{DatastoreID: "store", Model: "model-1", Dimensions: 2}}, p.spaces); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]string{{"Pumps\ntext"}}, p.batches); diff != "" { // two equal texts are embedded once
		t.Errorf("embedded texts (-want +got):\n%s", diff)
	}
}

func TestProgressOfALongDocumentIsReportedOnceASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPipeline(4*batchRows + 1)
		p.log.brief = false
		p.now = time.Now
		read, embed := p.extract, p.embed
		p.extract = func(r extract.Request) (*domain.Document, error) { time.Sleep(700 * time.Millisecond); return read(r) }
		p.embed = func(texts []string) ([][]float32, error) { time.Sleep(400 * time.Millisecond); return embed(texts) }
		p.chunks = different(p.chunks)
		begun := time.Now()
		if err := p.handle(t, ingestJob()); err != nil {
			t.Fatal(err)
		}
		var reported []string
		for _, ev := range p.log.events {
			line := fmt.Sprintf("%v %s", ev.At.Sub(begun), ev.Type)
			if ev.Progress != nil {
				line += fmt.Sprintf(" %s %d of %d", ev.Progress.Stage, ev.Progress.Done, ev.Progress.Total)
			}
			reported = append(reported, line)
		}
		total := 4*batchRows + 1
		want := []string{
			"300ms running extracting 0 of 0",
			fmt.Sprintf("1.5s progress indexing %d of %d", 2*batchRows, total),
			"2.7s synched",
		}
		if diff := cmp.Diff(want, reported); diff != "" {
			t.Error(diff)
		}
	})
}

func TestIngestionSucceedsWithoutProgressReports(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPipeline(1)
		p.now = time.Now
		read := p.extract
		p.extract = func(r extract.Request) (*domain.Document, error) { time.Sleep(time.Minute); return read(r) }
		p.log.refuse = func(ev domain.Event) error {
			if ev.Type != domain.EventSynched {
				return errors.New("there is no leader")
			}
			return nil
		}
		if err := p.handle(t, ingestJob()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]domain.EventType{domain.EventSynched}, p.log.types()); diff != "" {
			t.Error(diff)
		}
	})
}

// different wraps a function that returns chunks and makes each chunk's text unique.
func different(chunks func(*domain.Document) ([]domain.Chunk, error)) func(*domain.Document) ([]domain.Chunk, error) {
	return func(doc *domain.Document) ([]domain.Chunk, error) {
		all, err := chunks(doc)
		for n := range all {
			all[n].Text = fmt.Sprint("text ", n)
		}
		return all, err
	}
}

func TestIngestorWorksInBatches(t *testing.T) {
	t.Parallel()
	const chunks = 2*batchRows + 1
	p := newPipeline(chunks)
	p.chunks = different(p.chunks)
	if err := p.handle(t, ingestJob()); err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for _, b := range p.batches {
		sizes = append(sizes, len(b))
	}
	if diff := cmp.Diff([]int{batchRows, batchRows, 1}, sizes); diff != "" {
		t.Error(diff)
	}
	if ev := p.log.last(t, domain.EventSynched); ev.Chunks != chunks || len(p.rows) != chunks || len(p.spaces) != 3 {
		t.Errorf("%d rows in %d writes, %d chunks reported", len(p.rows), len(p.spaces), ev.Chunks)
	}
}

func TestIngestorYieldsBeforeAJobAndEachBatch(t *testing.T) {
	t.Parallel()
	p := newPipeline(2*batchRows + 1)
	p.chunks = different(p.chunks)
	var embedded []int // number of batches embedded before each call to Yield
	i := p.ingestor()
	i.Yield = func(context.Context) { embedded = append(embedded, len(p.batches)) }
	if err := i.Handle(t.Context(), ingestJob()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{0, 0, 1, 2}, embedded); diff != "" {
		t.Error(diff)
	}
}

func TestIngestorWritesTheSameRowsForARedeliveredJob(t *testing.T) {
	t.Parallel()
	p := newPipeline(batchRows + 1)
	writes := 0
	p.write = func(index.Space, []index.Row) error {
		if writes++; writes == 2 {
			return errDown
		}
		return nil
	}
	if err := p.handle(t, ingestJob()); !errors.Is(err, errDown) {
		t.Fatalf("err = %v", err)
	}
	begun := p.rows
	p.rows = nil
	if err := p.handle(t, ingestJob()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(begun, p.rows[:len(begun)]); diff != "" {
		t.Error(diff)
	}
	if n := strings.Count(fmt.Sprint(p.log.types()), string(domain.EventSynched)); n != 1 || len(p.rows) != batchRows+1 {
		t.Errorf("%d rows and %d ends", len(p.rows), n)
	}
}

func TestIngestorReadsTheOriginalAsWhatItIs(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*domain.Job)
		want   extract.Request
	}{
		"a file goes by its name": {
			change: func(*domain.Job) {}, want: extract.Request{Name: "handbook.pdf", Declared: "application/pdf"},
		},
		"a page goes by its address": {
			change: func(j *domain.Job) { j.Type, j.Original.Name = domain.TypeWebPage, "https://pumps.example/a" },
			want:   extract.Request{Name: "https://pumps.example/a", Declared: "application/pdf", URL: "https://pumps.example/a"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, job := newPipeline(1), ingestJob()
			test.change(&job)
			p.get = func(key string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("of " + key)), nil }
			p.extract = func(r extract.Request) (*domain.Document, error) {
				if content, err := io.ReadAll(r.Reader); err != nil || string(content) != "of key" {
					t.Errorf("content %q, err %v", content, err)
				}
				r.Reader, r.Progress, test.want.Workspace, test.want.Defer = nil, nil, job.WorkspaceID, true
				if diff := cmp.Diff(test.want, r); diff != "" {
					t.Error(diff)
				}
				return &domain.Document{}, nil
			}
			p.chunks = func(d *domain.Document) ([]domain.Chunk, error) {
				if d.Title != "handbook" {
					t.Errorf("a document without a title has %q, want the datasource's name", d.Title)
				}
				return []domain.Chunk{{Text: "text"}}, nil
			}
			if err := p.handle(t, job); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([][]string{{"text"}}, p.batches); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestIngestorClassifiesErrors(t *testing.T) {
	t.Parallel()
	busy := &embed.Error{Kind: embed.Transient, RetryAfter: time.Minute}
	tests := map[string]struct {
		spoil     func(*ingestorFixture, *domain.Job)
		permanent bool
		words     string // part of the message for users
	}{
		"a job without content is final": {
			spoil: func(_ *ingestorFixture, j *domain.Job) { j.Original = nil }, permanent: true, words: "was not stored",
		},
		"an original that is gone is final": {
			spoil: func(p *ingestorFixture, _ *domain.Job) {
				p.get = func(string) (io.ReadCloser, error) { return nil, fmt.Errorf("key: %w", originals.ErrNotFound) }
			},
			permanent: true, words: "upload it again",
		},
		"an original that is damaged everywhere is final": {
			spoil: func(p *ingestorFixture, _ *domain.Job) {
				p.get = func(string) (io.ReadCloser, error) { return nil, fmt.Errorf("key: %w", originals.ErrCorrupt) }
			},
			permanent: true, words: "is damaged; upload it again",
		},
		"an original that is damaged while it is read is final": {
			spoil: func(p *ingestorFixture, _ *domain.Job) {
				p.extract = func(extract.Request) (*domain.Document, error) {
					return nil, fmt.Errorf("reading the content: %w", originals.ErrCorrupt)
				}
			},
			permanent: true, words: "is damaged; upload it again",
		},
		"a store of originals that is down passes": {
			spoil: func(p *ingestorFixture, _ *domain.Job) {
				p.get = func(string) (io.ReadCloser, error) { return nil, errDown }
			},
			words: "reading the original",
		},
		"a document that cannot be read is final": {
			spoil: func(p *ingestorFixture, _ *domain.Job) {
				p.extract = func(extract.Request) (*domain.Document, error) {
					return nil, &extract.Error{Kind: extract.Damaged, Message: "the file is damaged", Err: errors.New("goroutine 1 [running]")}
				}
			},
			permanent: true, words: "the file is damaged",
		},
		"a reader that cannot be started passes": {
			spoil: func(p *ingestorFixture, _ *domain.Job) {
				p.extract = func(extract.Request) (*domain.Document, error) { return nil, errDown }
			},
			words: "extracting text",
		},
		"a document that has too many chunks is final": {
			spoil: func(p *ingestorFixture, _ *domain.Job) {
				p.chunks = func(*domain.Document) ([]domain.Chunk, error) {
					return nil, domain.Errorf(domain.CodeTooLarge, "it has too many chunks")
				}
			},
			permanent: true, words: "too many chunks",
		},
		"an empty document is final and no success": {
			spoil: func(p *ingestorFixture, _ *domain.Job) {
				p.chunks = func(*domain.Document) ([]domain.Chunk, error) { return nil, nil }
			},
			permanent: true, words: "no text",
		},
		"a job of a time before places is final": {
			spoil: func(_ *ingestorFixture, j *domain.Job) { j.Places = nil }, permanent: true, words: "does not say where to store its chunks; resync the datasource",
		},
		"an engine that this process does not have passes": {
			spoil: func(p *ingestorFixture, j *domain.Job) {
				j.Places = append(j.Places, domain.Place{Engine: domain.EngineMilvus, Model: "model-1"})
				engines := p.engine
				p.engine = func(e domain.Engine) (Index, error) {
					if e == domain.EngineMilvus {
						return nil, errors.New("no address")
					}
					return engines(e)
				}
			},
			words: `the datastore's engine "milvus" is not configured in this process`,
		},
		"a model that this process does not have passes": {
			spoil: func(p *ingestorFixture, _ *domain.Job) {
				p.embedder = func(string) (embed.Embedder, error) { return nil, errors.New("not configured") }
			},
			words: `the datastore's embedding model "model-1" is not configured in this process`,
		},
		"a model that refuses is final": {
			spoil: func(p *ingestorFixture, _ *domain.Job) {
				p.embed = func([]string) ([][]float32, error) { return nil, &embed.Error{Kind: embed.Permanent, Model: "model-1"} }
			},
			permanent: true, words: "chunks 0 to 0",
		},
		"a model that is busy passes": {
			spoil: func(p *ingestorFixture, _ *domain.Job) {
				p.embed = func([]string) ([][]float32, error) { return nil, busy }
			},
			words: "chunks 0 to 0",
		},
		"rows that the index cannot take are final": {
			spoil: func(p *ingestorFixture, _ *domain.Job) {
				p.write = func(index.Space, []index.Row) error { return fmt.Errorf("row 0: %w", index.ErrInvalid) }
			},
			permanent: true, words: "writing chunks 0 to 0",
		},
		"an index that is down passes": {
			spoil: func(p *ingestorFixture, _ *domain.Job) {
				p.write = func(index.Space, []index.Row) error { return errDown }
			},
			words: "writing chunks 0 to 0",
		},
		"an event that cannot be stored now passes": {
			spoil: func(p *ingestorFixture, _ *domain.Job) { p.log.refuse = func(domain.Event) error { return errDown } },
			words: "reporting synched",
		},
		"an event that is too large is final": {
			spoil: func(p *ingestorFixture, _ *domain.Job) {
				p.log.refuse = func(ev domain.Event) error {
					if ev.Type == domain.EventSynched {
						return jobs.ErrTooLarge
					}
					return nil
				}
			},
			permanent: true, words: "reporting synched",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, job := newPipeline(1), ingestJob()
			test.spoil(p, &job)
			err := p.handle(t, job)
			if err == nil || jobs.IsPermanent(err) != test.permanent {
				t.Fatalf("err = %v, permanent %v", err, jobs.IsPermanent(err))
			}
			if !strings.Contains(err.Error(), test.words) {
				t.Errorf("the error %q does not say %q", err, test.words)
			}
			for _, ev := range p.log.events {
				if ev.Type == domain.EventSynched {
					t.Error("a job that failed was reported as synched")
				}
			}
		})
	}
	t.Run("people read what is wrong with a document and not how its reader died", func(t *testing.T) {
		t.Parallel()
		p, job := newPipeline(1), ingestJob()
		tests["a document that cannot be read is final"].spoil(p, &job)
		var reported *domain.Error
		if err := p.handle(t, job); !errors.As(err, &reported) || reported.Message != "the file is damaged" {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("a model that says when to come again is asked no sooner", func(t *testing.T) {
		t.Parallel()
		want := jobs.RetryAfter(time.Minute, fmt.Errorf("embedding chunks 0 to 0: %w", busy))
		p := newPipeline(1)
		p.embed = func([]string) ([][]float32, error) { return nil, busy }
		if err := p.handle(t, ingestJob()); !reflect.DeepEqual(err, want) {
			t.Errorf("err = %#v, want %#v", err, want)
		}
	})
}

func TestOneBatchIsEmbeddedWhileTheOneBeforeIsWritten(t *testing.T) {
	t.Parallel()
	p := newPipeline(3 * batchRows)
	embedded := make(chan struct{}, 3)
	vectors := p.embed
	p.embed = func(texts []string) ([][]float32, error) {
		defer func() { embedded <- struct{}{} }()
		return vectors(texts)
	}
	writes := 0
	p.write = func(index.Space, []index.Row) error {
		if writes++; writes == 1 {
			<-embedded // the batch being written
			<-embedded // the next batch
		}
		return nil
	}
	if err := p.handle(t, ingestJob()); err != nil {
		t.Fatal(err)
	}
}
