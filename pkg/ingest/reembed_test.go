package ingest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// moveJob returns a job that moves the document to another model in the same engine.
func (l *library) moveJob() domain.Job {
	job := l.job(elsewhere)
	job.Move = "move"
	return job
}

func always(domain.Place, domain.Place) bool { return true }

func TestAMoveToAnotherModelCopiesRowsWithNewVectors(t *testing.T) {
	t.Parallel()
	for name, background := range map[string]*Background{"at once": nil, "in the background": NewBackground(1, always, nil)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLibrary(t, 2*batchRows+3, 4)
			l.previous.TextID = "text"
			job := l.moveJob()
			i := l.ingestor()
			i.Background = background
			if err := i.Handle(t.Context(), job); err != nil {
				t.Fatal(err)
			}
			l.verify(t, job, elsewhere)
			if l.originals != 0 {
				t.Error("the original was read")
			}
			ev := l.log.last(t, domain.EventSynched)
			got := []any{ev.Chunks, ev.Fingerprint, ev.TextID, ev.Inputs, ev.Move, ev.Places, ev.Bytes > 0}
			if diff := cmp.Diff([]any{int64(2*batchRows + 3), l.previous.Fingerprint, "text", "", "move", []domain.Place{elsewhere}, true}, got); diff != "" {
				t.Errorf("event (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAllFieldsOfARowAreCopied(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, 1, 4)
	old := index.Space{DatastoreID: "store", Model: "small", Dimensions: 4}
	row := &l.indexes[here.Engine].rows[old][0]
	row.Heading, row.Anchor, row.Page, row.Offset, row.Runs, row.Metadata = "Seals", "seals", 7, 40, "runs", map[string]any{"ocr_confidence": 0.9}
	want := *row
	job := l.moveJob()
	l.must(t, job)
	copied := l.indexes[here.Engine].rows[index.Space{DatastoreID: "store", Model: "large", Dimensions: 5}][0]
	want.Key, want.Generation, want.Vector = domain.ChunkKey("src", job.Generation, 0), job.Generation, l.models["large"].vector("Pumps\nParagraph 0.")
	if diff := cmp.Diff(want, copied); diff != "" {
		t.Errorf("the copied row (-want +got):\n%s", diff)
	}
}

func TestAMoveReadsTheOriginalIfRowsCannotBeCopied(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(l *library, j *domain.Job){
		"a row is missing":              func(l *library, _ *domain.Job) { l.drop(1) },
		"all rows are missing":          func(l *library, _ *domain.Job) { l.drop(100) },
		"readers see nothing":           func(_ *library, j *domain.Job) { j.Previous = nil },
		"reading again is asked for":    func(_ *library, j *domain.Job) { j.Force = true },
		"it is no move":                 func(_ *library, j *domain.Job) { j.Move = "" },
		"the rows are in other engines": func(_ *library, j *domain.Job) { j.Places[0].Engine = there.Engine },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLibrary(t, 100, 4)
			job := l.moveJob()
			change(l, &job)
			l.must(t, job)
			l.verify(t, job, job.Places[0])
			if l.originals != 1 {
				t.Errorf("the original was read %d times", l.originals)
			}
		})
	}
}

func TestAnInterruptedCopyIsContinued(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, 3*batchRows, 4)
	job := l.moveJob()
	writes := 0
	l.indexes[here.Engine].refuse = func() error {
		if writes++; writes == 3 {
			return errDown
		}
		return nil
	}
	if err := l.handle(t, job); !errors.Is(err, errDown) {
		t.Fatalf("err = %v", err)
	}
	l.models["large"].texts = nil
	job.Delivery = 2
	l.must(t, job)
	l.verify(t, job, elsewhere)
	if n := len(l.models["large"].texts); n != batchRows {
		t.Errorf("%d texts were embedded in the second run, want %d", n, batchRows)
	}
}

func TestBackgroundWorkGivesWayForALimitedTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		querying := false
		b := NewBackground(1, always, func() bool { return querying })
		waited := func() time.Duration {
			began := time.Now()
			leave, err := b.enter(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			leave()
			return time.Since(began)
		}
		end := b.foreground()
		got := []time.Duration{waited()}
		time.AfterFunc(3*backgroundPoll/2, end)
		got = append(got, waited(), waited())
		querying = true
		got = append(got, waited())
		if want := []time.Duration{backgroundMaxWait, 2 * backgroundPoll, 0, backgroundMaxWait}; !slices.Equal(got, want) {
			t.Errorf("it waited %v, want %v", got, want)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := b.enter(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("after its end: %v", err)
		}
		querying = false
		waited() // the slot was returned
	})
}
