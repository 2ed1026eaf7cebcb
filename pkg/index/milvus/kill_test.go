package milvus

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/tools/local/engines"
)

// killableServer is a server used by only one test, which may kill it.
type killableServer interface {
	Addr() string
	Kill() error
	Stop() error
	Restart(context.Context) error
}

func TestServer_that_is_killed_while_rows_are_written_loses_none(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(context.Context, string) (killableServer, error){
		"standalone": func(ctx context.Context, dir string) (killableServer, error) {
			return engines.StartMilvus(ctx, dir, engines.MilvusOptions{Temporary: true})
		},
		"lite": func(ctx context.Context, dir string) (killableServer, error) {
			return engines.StartMilvusLite(ctx, dir, engines.MilvusLiteOptions{Temporary: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			server, err := start(ctx, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := server.Stop(); err != nil {
					t.Error(err)
				}
			})
			x, s := openForTest(t, server.Addr(), "killed"), space()
			const sources, killAfter = 12, 5
			for i := range sources {
				if i == killAfter {
					killed := make(chan error)
					go func() {
						err := server.Kill()
						if err == nil {
							err = server.Restart(ctx)
						}
						killed <- err
					}()
					defer func() {
						if err := <-killed; err != nil {
							t.Error(err)
						}
					}()
				}
				source := fmt.Sprint("ds", i)
				rows := someRows(source, 1, 40)
				for part := 0; part < len(rows); part += 20 {
					retryUntilDone(ctx, t, func() error { return x.Write(ctx, s, rows[part:part+20]) })
				}
			}
			for i := range sources {
				retryUntilDone(ctx, t, func() error {
					n, err := x.Count(ctx, s, fmt.Sprint("ds", i), 1)
					if err == nil && n != 40 {
						t.Errorf("%d rows of datasource %d, want 40", n, i)
					}
					return err
				})
			}
			retryUntilDone(ctx, t, func() error {
				r, err := x.Search(ctx, s, index.Query{Vector: []float32{1, 0, 0, 0}, Limit: 2000})
				if err == nil && len(r.Hits) != sources*40 {
					t.Errorf("%d hits, want %d", len(r.Hits), sources*40)
				}
				return err
			})
			if n := inserted(t, x, s); n != sources*40 {
				t.Errorf("the server holds %d rows, want %d", n, sources*40)
			}
		})
	}
}

// retryUntilDone calls f until it succeeds, as the job stream does with a job.
func retryUntilDone(ctx context.Context, t *testing.T, f func() error) {
	t.Helper()
	for {
		err := f()
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("not done in time: %v", err)
		}
		t.Logf("again after: %v", err)
	}
}
