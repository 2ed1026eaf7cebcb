package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/jobs"
)

func TestOnlyNewTextIsEmbedded(t *testing.T) {
	t.Parallel()
	all := func(l *library) []string {
		var out []string
		for _, p := range l.paragraphs {
			out = append(out, "Pumps\n"+p)
		}
		return out
	}
	tests := map[string]struct {
		change func(*library)
		places []domain.Place
		small  func(*library) []string // texts embedded with each model
		large  func(*library) []string
	}{
		"reading unchanged content anew embeds nothing": {places: []domain.Place{here}},
		"one changed paragraph of a hundred is one text": {
			change: func(l *library) { l.paragraphs[50] = "Gates." }, places: []domain.Place{here},
			small: func(*library) []string { return []string{"Pumps\nGates."} },
		},
		"a paragraph more moves the others and changes none": {
			change: func(l *library) { l.paragraphs = slices.Insert(l.paragraphs, 3, "Gates.") }, places: []domain.Place{here},
			small: func(*library) []string { return []string{"Pumps\nGates."} },
		},
		"text that was moved far is found": {
			change: func(l *library) { slices.Reverse(l.paragraphs) }, places: []domain.Place{here},
		},
		"a move to another engine takes the vectors along": {places: []domain.Place{there}},
		"fresh content in two engines is embedded once": {
			change: func(l *library) { l.paragraphs[50] = "Gates." }, places: []domain.Place{here, there},
			small: func(*library) []string { return []string{"Pumps\nGates."} },
		},
		"another model embeds everything": {places: []domain.Place{elsewhere}, large: all},
		"during a move to another model only that one embeds what is old": {
			change: func(l *library) { l.paragraphs[50] = "Gates." }, places: []domain.Place{here, elsewhere},
			small: func(*library) []string { return []string{"Pumps\nGates."} }, large: all,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLibrary(t, 100, 4)
			if test.change != nil {
				test.change(l)
			}
			job := l.job(test.places...)
			job.Force = true
			l.must(t, job)
			for _, p := range test.places {
				l.verify(t, job, p)
			}
			for model, want := range map[string]func(*library) []string{"small": test.small, "large": test.large} {
				var texts []string
				if want != nil {
					texts = want(l)
				}
				if diff := cmp.Diff(texts, l.models[model].texts); diff != "" {
					t.Errorf("embedded with %s (-want +got):\n%s", model, diff)
				}
			}
			if l.originals != 1 {
				t.Errorf("the original was read %d times", l.originals)
			}
		})
	}
}

func TestVectorsBeyondTheCacheAreReadAgain(t *testing.T) {
	t.Parallel()
	const dimensions = 8192
	const kept = vectorCacheBytes / (4*dimensions + 64)
	l := newLibrary(t, kept+3*vectorPage, dimensions)
	l.paragraphs = slices.Delete(l.paragraphs, kept+10, kept+20)
	l.paragraphs[kept+300] = "Gates."
	job := l.job(there)
	l.must(t, job)
	l.verify(t, job, there)
	if diff := cmp.Diff([]string{"Pumps\nGates."}, l.models["small"].texts); diff != "" {
		t.Error(diff)
	}
	pages := (kept + 3*vectorPage + vectorPage - 1) / vectorPage
	batches := (len(l.paragraphs)-kept)/batchRows + 2
	if reads := l.indexes[domain.EngineEmbedded].reads; reads > pages+batches+2 {
		t.Errorf("%d pages of rows were read in %d reads, then %d batches of them again", pages, reads, batches)
	}

	t.Run("but not one by one", func(t *testing.T) {
		l.reset()
		// Reorder the paragraphs so that the texts in a batch come from all over the old document.
		tail := l.paragraphs[kept:]
		var spread []string
		for i := range 64 {
			for j := i; j < len(tail); j += 64 {
				spread = append(spread, tail[j])
			}
		}
		l.paragraphs = append(l.paragraphs[:kept:kept], spread...)
		job := l.job(there)
		l.must(t, job)
		l.verify(t, job, there)
		if reads := l.indexes[domain.EngineEmbedded].reads; reads > pages+batches*maxVectorReads {
			t.Errorf("%d reads", reads)
		}
	})
	t.Run("and embedded when they are gone by then", func(t *testing.T) {
		l.reset()
		s := l.indexes[domain.EngineEmbedded]
		d := &destination{model: "small", embedder: l.models["small"]}
		if err := d.addVectorCache(t.Context(), s, l.job(there), l.previous.Generation); err != nil {
			t.Fatal(err)
		}
		clear(s.rows)
		got := make([][]float32, 2)
		err := d.caches[0].fill(t.Context(), []string{"Pumps\n" + l.paragraphs[0], fmt.Sprintf("Pumps\nParagraph %d.", kept+1)}, got)
		if err != nil || got[0] == nil || got[1] != nil {
			t.Errorf("kept %v, gone %v, err %v", got[0] != nil, got[1] != nil, err)
		}
	})
}

func TestAnUnreadablePreviousVersionDoesNotFailAJob(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		spoil func(*library)
		fail  error
		runs  int // number of runs until the job succeeds
	}{
		"an engine that is down is waited for, and then done without": {fail: errDown, runs: optionalFailures + 1},
		"what is damaged is embedded":                                 {fail: index.ErrCorrupt, runs: 1},
		"what is gone is embedded":                                    {spoil: func(l *library) { clear(l.indexes[domain.EngineEmbedded].rows) }, runs: 1},
		"an engine out of reach is done without": {runs: 1, spoil: func(l *library) {
			engines := l.engine
			l.engine = func(e domain.Engine) (Index, error) {
				if e == domain.EngineEmbedded {
					return nil, errors.New("not here")
				}
				return engines(e)
			}
		}},
		"vectors of another length than the model makes now are not copied": {runs: 1, spoil: func(l *library) {
			l.models["small"].model.Dimensions++
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLibrary(t, 10, 4)
			l.indexes[domain.EngineEmbedded].fail = test.fail
			if test.spoil != nil {
				test.spoil(l)
			}
			job := l.job(there)
			job.Delivery = 0
			for {
				job.Delivery++
				err := l.handle(t, job)
				if err == nil {
					break
				}
				if jobs.IsPermanent(err) || job.Delivery > test.runs {
					t.Fatalf("run %d: %v", job.Delivery, err)
				}
			}
			if job.Delivery != test.runs {
				t.Errorf("the job succeeded in run %d, want %d", job.Delivery, test.runs)
			}
			l.verify(t, job, there)
			if n := len(l.models["small"].texts); n != len(l.paragraphs) {
				t.Errorf("%d texts were embedded", n)
			}
		})
	}
}

func TestAnInterruptedJobContinues(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, 2*batchRows, 4)
	job := l.job(elsewhere)
	model, calls := l.models["large"], 0
	l.embedder = func(string) (embed.Embedder, error) {
		return failing{model, func() error {
			if calls++; calls == 2 {
				return errDown
			}
			return nil
		}}, nil
	}
	if err := l.handle(t, job); !errors.Is(err, errDown) {
		t.Fatalf("err = %v", err)
	}
	job.Delivery = 2
	l.must(t, job)
	l.verify(t, job, elsewhere)
	if n := len(model.texts); n != len(l.paragraphs) {
		t.Errorf("%d texts were embedded, there are %d", n, len(l.paragraphs))
	}
}

// failing is an embedder that fails if `fail` returns an error.
type failing struct {
	*countingEmbedder
	fail func() error
}

func (f failing) Embed(ctx context.Context, texts []string, p embed.Purpose) ([][]float32, error) {
	if err := f.fail(); err != nil {
		return nil, err
	}
	return f.countingEmbedder.Embed(ctx, texts, p)
}

func TestUnknownDimensionsAreThoseOfTheCachedVectors(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, 10, 4)
	known := l.models["small"]
	l.models["small"] = &countingEmbedder{model: known.model}
	l.models["small"].model.Dimensions = 0
	job := l.job(there)
	l.must(t, job)
	silent := l.models["small"]
	l.models["small"] = known
	l.verify(t, job, there)
	if silent.calls != 0 {
		t.Errorf("the model was asked %d times", silent.calls)
	}
}
