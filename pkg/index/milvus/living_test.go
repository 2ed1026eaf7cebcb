package milvus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// space returns a space with a new datastore. Each test has its own collections.
func space() index.Space {
	return index.Space{DatastoreID: domain.NewID(), Model: "test/model", Dimensions: 4}
}

// someRows returns n rows of a generation.
func someRows(datasource string, generation uint64, n int) []index.Row {
	rows := make([]index.Row, n)
	for i := range rows {
		rows[i] = index.Row{
			Key: domain.ChunkKey(datasource, generation, i), DatasourceID: datasource, Generation: generation, Ordinal: i,
			Text: fmt.Sprintf("chunk number%d", i), Vector: []float32{0.6, 0.8, 0, 0},
		}
	}
	return rows
}

// connect connects in advance, so that any failure comes from the call under test.
func connect(t *testing.T, x *Index) {
	t.Helper()
	if _, err := x.Server(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func count(t *testing.T, x *Index, s index.Space, datasource string, generation uint64) int64 {
	t.Helper()
	n, err := x.Count(t.Context(), s, datasource, generation)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// inserted returns the number of rows on the server, including copies.
func inserted(t *testing.T, x *Index, s index.Space) int64 {
	t.Helper()
	var n []int64
	err := x.use(t.Context(), s, false, func(col *collection) error {
		return x.call(t.Context(), "counting", func(ctx context.Context, srv *server) error {
			set, err := srv.Query(ctx, col.name, nil, equals(fieldDatastore, s.DatastoreID), []string{"count(*)"}, strongConsistency)
			n = (&table{set: set}).numbers("count(*)")
			return err
		})
	})
	if err != nil || len(n) != 1 {
		t.Fatalf("counting what was inserted: %v %v", n, err)
	}
	return n[0]
}

func TestProcesses_that_make_a_collection_at_the_same_moment_share_it(t *testing.T) {
	t.Parallel()
	onEveryServer(t, func(t *testing.T, addr string) {
		prefix, s := testPrefix(t, addr), space()
		var writing sync.WaitGroup
		for i := range 4 {
			x := openForTest(t, addr, prefix)
			writing.Go(func() {
				if err := x.Write(t.Context(), s, someRows(fmt.Sprint("ds", i), 1, 3)); err != nil {
					t.Errorf("process %d: %v", i, err)
				}
			})
		}
		writing.Wait()
		x := openForTest(t, addr, prefix)
		for i := range 4 {
			if n := count(t, x, s, fmt.Sprint("ds", i), 1); n != 3 {
				t.Errorf("%d rows of process %d", n, i)
			}
		}
	})
}

func TestDropped_collection_is_created_again_by_the_next_write(t *testing.T) {
	t.Parallel()
	onEveryServer(t, func(t *testing.T, addr string) {
		x, s := openForTest(t, addr, testPrefix(t, addr)), space()
		if err := x.Write(t.Context(), s, someRows("ds", 1, 3)); err != nil {
			t.Fatal(err)
		}
		name := collectionName(x.opts.Prefix, s)
		if err := x.call(t.Context(), "dropping", func(ctx context.Context, srv *server) error { return srv.DropCollection(ctx, name) }); err != nil {
			t.Fatal(err)
		}
		if r, err := x.Search(t.Context(), s, index.Query{Text: "chunk", Vector: []float32{1, 0, 0, 0}, Limit: 5}); err != nil || len(r.Hits) != 0 {
			t.Errorf("searching what was dropped: %d hits, %v", len(r.Hits), err)
		}
		if err := x.Write(t.Context(), s, someRows("ds", 1, 3)); err != nil {
			t.Fatalf("writing again: %v", err)
		}
		if n := count(t, x, s, "ds", 1); n != 3 {
			t.Errorf("%d rows, want 3", n)
		}
	})
}

func TestCollection_that_was_released_is_loaded_again(t *testing.T) {
	t.Parallel()
	onEveryServer(t, func(t *testing.T, addr string) {
		x, s := openForTest(t, addr, testPrefix(t, addr)), space()
		if err := x.Write(t.Context(), s, someRows("ds", 1, 3)); err != nil {
			t.Fatal(err)
		}
		name := collectionName(x.opts.Prefix, s)
		if err := x.call(t.Context(), "releasing", func(ctx context.Context, srv *server) error { return srv.ReleaseCollection(ctx, name) }); err != nil {
			t.Fatal(err)
		}
		if n := count(t, x, s, "ds", 1); n != 3 {
			t.Errorf("%d rows, want 3", n)
		}
	})
}

func TestCollection_of_an_unknown_schema_is_refused(t *testing.T) {
	t.Parallel()
	onEveryServer(t, func(t *testing.T, addr string) {
		for name, description := range map[string]string{"another version": `{"sluice_schema":99,"model":"test/model","dimensions":4}`, "somebody else's": "my collection"} {
			x, s := openForTest(t, addr, testPrefix(t, addr)), space()
			sch := schema(collectionName(x.opts.Prefix, s), s, false).WithDescription(description)
			if err := x.call(t.Context(), "creating", func(ctx context.Context, srv *server) error { return srv.CreateCollection(ctx, sch, 1) }); err != nil {
				t.Fatal(err)
			}
			if err := x.Write(t.Context(), s, someRows("ds", 1, 1)); !errors.Is(err, ErrSchema) {
				t.Errorf("%s: writing: %v, want ErrSchema", name, err)
			}
			if _, err := x.Search(t.Context(), s, index.Query{Text: "x", Limit: 1}); !errors.Is(err, ErrSchema) {
				t.Errorf("%s: searching: %v, want ErrSchema", name, err)
			}
		}
		x := openForTest(t, addr, testPrefix(t, addr))
		later := entity.NewSchema().WithName(x.opts.Prefix + "_v99_d4_later").
			WithField(entity.NewField().WithName("id").WithDataType(entity.FieldTypeInt64).WithIsPrimaryKey(true)).
			WithField(entity.NewField().WithName("v").WithDataType(entity.FieldTypeFloatVector).WithDim(4))
		if err := x.call(t.Context(), "creating", func(ctx context.Context, srv *server) error { return srv.CreateCollection(ctx, later, 1) }); err != nil {
			t.Fatal(err)
		}
		if err := x.DropDatastore(t.Context(), domain.NewID()); !errors.Is(err, ErrSchema) {
			t.Errorf("dropping a datastore that a later version may have rows of: %v, want ErrSchema", err)
		}
		if err := x.call(t.Context(), "dropping", func(ctx context.Context, srv *server) error { return srv.DropCollection(ctx, later.CollectionName) }); err != nil {
			t.Fatal(err)
		}
	})
}

// faults makes a method fail, before or after the server has done the work.
type faults struct {
	method string
	left   atomic.Int32
	done   bool // the server does the work before the call fails
}

func (f *faults) intercept(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if !strings.HasSuffix(method, "/"+f.method) || f.left.Add(-1) < 0 {
		return invoke(ctx, method, req, reply, cc, opts...)
	}
	if f.done {
		if err := invoke(ctx, method, req, reply, cc, opts...); err != nil {
			return err
		}
	}
	return status.Error(codes.Unavailable, "the connection broke")
}

func TestInsert_whose_answer_was_lost_leaves_each_row_once(t *testing.T) {
	t.Parallel()
	onEveryServer(t, func(t *testing.T, addr string) {
		for name, done := range map[string]bool{"done by the server": true, "not done": false} {
			f := &faults{method: "Insert", done: done}
			x, s := openForTest(t, addr, testPrefix(t, addr)), space()
			x.fault = f.intercept
			connect(t, x)
			for part := range 3 {
				f.left.Store(2)
				if err := x.Write(t.Context(), s, someRows("ds", 1, 30)[10*part:10*part+10]); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			if n := inserted(t, x, s); n != 30 {
				t.Errorf("%s: the server holds %d rows, want 30", name, n)
			}
		}
	})
}

func TestWrite_that_fails_can_be_done_again(t *testing.T) {
	t.Parallel()
	onEveryServer(t, func(t *testing.T, addr string) {
		f := &faults{method: "Insert"}
		x, s := openForTest(t, addr, testPrefix(t, addr)), space()
		x.fault = f.intercept
		connect(t, x)
		f.left.Store(maxAttempts)
		if err := x.Write(t.Context(), s, someRows("ds", 1, 10)); err == nil || !strings.Contains(err.Error(), "the connection broke") {
			t.Errorf("error %v does not tell its cause", err)
		}
		for range 2 {
			if err := x.Write(t.Context(), s, someRows("ds", 1, 10)); err != nil {
				t.Fatal(err)
			}
		}
		if n := inserted(t, x, s); n != 10 {
			t.Errorf("the server holds %d rows, want 10", n)
		}
	})
}

func TestRows_that_were_inserted_twice_are_shown_once_and_swept_together(t *testing.T) {
	t.Parallel()
	onEveryServer(t, func(t *testing.T, addr string) {
		x, s := openForTest(t, addr, testPrefix(t, addr)), space()
		x.listed, x.deleted = 7, 7 // pages so small that a row's copies don't share one
		rows := someRows("ds", 1, 30)
		batch, err := prepareAll(t.Context(), s, rows)
		if err != nil {
			t.Fatal(err)
		}
		err = x.use(t.Context(), s, true, func(col *collection) error {
			return x.call(t.Context(), "inserting", func(ctx context.Context, srv *server) error {
				for range 3 {
					if err := insert(ctx, srv, col, s, batch); err != nil {
						return err
					}
				}
				return nil
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		if n := inserted(t, x, s); n != 90 {
			t.Fatalf("the server holds %d rows, want 90", n)
		}
		if n := count(t, x, s, "ds", 1); n != 30 {
			t.Errorf("%d rows are counted, want 30", n)
		}
		got, err := x.Rows(t.Context(), s, "ds", 1, 5, 10)
		if err != nil || len(got) != 10 || got[0].Ordinal != 5 || got[9].Ordinal != 14 {
			t.Errorf("%d rows are read, %v", len(got), err)
		}
		r, err := x.Search(t.Context(), s, index.Query{Vector: []float32{1, 0, 0, 0}, Limit: 1000})
		if err != nil || len(r.Hits) != 30 {
			t.Errorf("%d hits, %v", len(r.Hits), err)
		}
		rows[3].Text = "another text"
		if err := x.Write(t.Context(), s, rows); err != nil {
			t.Fatal(err)
		}
		if n := inserted(t, x, s); n != 88 {
			t.Errorf("the server holds %d rows after a row was replaced, want 88", n)
		}
		if err := x.DeleteGenerations(t.Context(), s, index.Generations{DatasourceID: "ds", Below: 2}); err != nil {
			t.Fatal(err)
		}
		if n := inserted(t, x, s); n != 0 {
			t.Errorf("%d rows are left after the sweep", n)
		}
	})
}

func TestClient_reconnects_to_a_restarted_server(t *testing.T) {
	t.Parallel()
	onEveryServer(t, func(t *testing.T, addr string) {
		g := newGate(t, addr)
		g.set(true)
		prefix, s := testPrefix(t, addr), space()
		x := openForTest(t, g.Addr().String(), prefix)
		for range 2 { // unreachable from the start, and again after connecting
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if err := x.Ready(ctx); err == nil || ctx.Err() != nil {
				t.Errorf("ready without a server: %v", err)
			}
			if err := x.Write(ctx, s, someRows("ds", 1, 1)); err == nil || ctx.Err() != nil {
				t.Errorf("writing without a server: %v", err)
			}
			g.set(false)
			for x.Ready(ctx) != nil {
				if ctx.Err() != nil {
					t.Fatal("the server is not found again")
				}
			}
			if err := x.Write(ctx, s, someRows("ds", 1, 5)); err != nil {
				t.Errorf("writing when the server is back: %v", err)
			}
			if n := count(t, x, s, "ds", 1); n != 5 {
				t.Errorf("%d rows, want 5", n)
			}
			g.set(true)
		}
	})
}

func TestClose_ends_running_calls(t *testing.T) {
	t.Parallel()
	onEveryServer(t, func(t *testing.T, addr string) {
		x, s := openForTest(t, addr, testPrefix(t, addr)), space()
		if err := x.Write(t.Context(), s, someRows("ds", 1, 3)); err != nil {
			t.Fatal(err)
		}
		entered := make(chan struct{})
		running := make(chan error)
		go func() {
			running <- x.Stored(context.Background(), s, func(index.Stored) error {
				close(entered)
				<-x.ctx.Done() // Close has started; the call below must not wait for it
				_, err := x.Count(context.Background(), s, "ds", 1)
				return err
			})
		}()
		<-entered
		if err := x.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
		if err := <-running; !errors.Is(err, index.ErrClosed) {
			t.Errorf("error %v, want ErrClosed", err)
		}
	})
}

func TestDescribe_reports_the_features_of_the_server(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Server{"standalone": {Version: "v2.3.5-lite"}, "lite": {LexicalSearch: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := openForTest(t, servers[name](t), "unused")
			got, err := x.Server(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}
