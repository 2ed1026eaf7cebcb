package ingest

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/jobs"
)

func TestNewContentDoesNotWaitForTheTargetOfAMove(t *testing.T) {
	t.Parallel()
	down := func(err error) func(*library) {
		return func(l *library) { l.indexes[there.Engine].refuse = func() error { return err } }
	}
	third := domain.Place{Engine: domain.EngineMilvus, Model: "large"}
	tests := map[string]struct {
		places []domain.Place
		spoil  func(*library)
		runs   int // number of runs until the job succeeds
		want   []domain.Place
	}{
		"an engine that is down is waited for, and then done without": {
			places: []domain.Place{here, there}, spoil: down(errDown), runs: optionalFailures + 1, want: []domain.Place{here},
		},
		"an engine that refuses is done without at once": {
			places: []domain.Place{here, there}, spoil: down(index.ErrInvalid), runs: 1, want: []domain.Place{here},
		},
		"an engine that fails on the way leaves nothing half done that counts": {
			places: []domain.Place{here, third}, runs: 1, want: []domain.Place{here},
			spoil: func(l *library) {
				writes := 0
				l.indexes[third.Engine].refuse = func() error {
					if writes++; writes > 1 {
						return index.ErrInvalid
					}
					return nil
				}
			},
		},
		"an engine that this process does not have is waited for, and then done without": {
			places: []domain.Place{here, there}, runs: optionalFailures + 1, want: []domain.Place{here},
			spoil: func(l *library) {
				engines := l.engine
				l.engine = func(e domain.Engine) (Index, error) {
					if e == there.Engine {
						return nil, errors.New("not here")
					}
					return engines(e)
				}
			},
		},
		"a model that is down is waited for, and then done without": {
			places: []domain.Place{here, elsewhere}, runs: optionalFailures + 1, want: []domain.Place{here},
			spoil: func(l *library) { l.refuse("large", errDown) },
		},
		"a model that refuses is done without at once": {
			places: []domain.Place{here, elsewhere}, runs: 1, want: []domain.Place{here},
			spoil: func(l *library) { l.refuse("large", &embed.Error{Kind: embed.Permanent}) },
		},
		"a model that this process does not have is waited for, and then done without": {
			places: []domain.Place{here, elsewhere}, runs: optionalFailures + 1, want: []domain.Place{here},
			spoil: func(l *library) {
				models := l.embedder
				l.embedder = func(model string) (embed.Embedder, error) {
					if model == "large" {
						return nil, errors.New("not configured")
					}
					return models(model)
				}
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLibrary(t, 3*batchRows, 4)
			l.quiet = true
			test.spoil(l)
			job := l.job(test.places...)
			job.Force = true
			for job.Delivery = 1; ; job.Delivery++ {
				err := l.handle(t, job)
				if err == nil {
					break
				}
				if jobs.IsPermanent(err) || job.Delivery == test.runs {
					t.Fatalf("run %d: %v", job.Delivery, err)
				}
			}
			if job.Delivery != test.runs {
				t.Errorf("the job succeeded in run %d, want %d", job.Delivery, test.runs)
			}
			if diff := cmp.Diff(test.want, l.log.last(t, domain.EventSynched).Places); diff != "" {
				t.Errorf("places written (-want +got):\n%s", diff)
			}
			l.verify(t, job, here)
		})
	}
}

func TestContentWaitsForTheServingPlace(t *testing.T) {
	t.Parallel()
	for name, places := range map[string][]domain.Place{
		"with another one":      {there, here},
		"in the job of a move":  {there},
		"twice the same engine": {there, {Engine: there.Engine, Model: "large"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLibrary(t, 3, 4)
			l.quiet = true
			l.indexes[there.Engine].refuse = func() error { return errDown }
			job := l.job(places...)
			job.Delivery = 50
			if err := l.handle(t, job); !errors.Is(err, errDown) || jobs.IsPermanent(err) {
				t.Errorf("err = %v", err)
			}
		})
	}
	t.Run("and being stopped is no reason to go without a place", func(t *testing.T) {
		t.Parallel()
		l := newLibrary(t, 3, 4)
		ctx, cancel := context.WithCancel(t.Context())
		l.indexes[there.Engine].refuse = func() error { cancel(); return ctx.Err() }
		job := l.job(here, there)
		job.Force, job.Delivery = true, 50
		if err := l.ingestor().Handle(ctx, job); !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v", err)
		}
	})
}

// refuse makes a model fail with err.
func (l *library) refuse(model string, err error) {
	models := l.embedder
	l.embedder = func(name string) (embed.Embedder, error) {
		e, _ := models(name)
		if name != model {
			return e, nil
		}
		return failing{l.models[model], func() error { return err }}, nil
	}
}

// silent discards log messages that a test expects.
var silent = slog.New(slog.NewTextHandler(io.Discard, nil))
