package app

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/api/idempotency"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/control"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/ingest"
	"github.com/sluice/sluice/pkg/jobs"
)

// pointVariable is the environment variable that names a fault, which the program then causes once, in itself. At the
// step in the fault's name, it either kills itself as if by kill -9 ("kill before commit"), or executes the step but
// reports a time-out ("untold commit").
const pointVariable = "APP_TEST_POINT"

// writes lists, in order, the steps that make an upload with an idempotency key searchable.
var writes = []string{"claim", "content", "commit", "answer", "publish", "rows"}

// points returns the most dangerous faults, or all of them if TEST_FAULTS is set.
func points() (all []string) {
	if os.Getenv("TEST_FAULTS") == "" {
		return []string{"kill after content", "kill after commit", "untold commit", "untold publish", "kill after rows"}
	}
	for _, write := range writes {
		all = append(all, "kill before "+write, "kill after "+write, "untold "+write)
	}
	return all
}

// faultHooks returns hooks that cause the fault named by `point`, or no hooks if it is "".
func faultHooks(point string) (h hooks) {
	if point == "" {
		return h
	}
	at := &interruption{point: point}
	h.api = func(d *api.Deps) {
		d.Claims, d.Datasources = interruptedClaims{d.Claims, at}, interruptedDatasources{d.Datasources, at}
		d.Originals = interruptedOriginals{d.Originals, at}
	}
	h.publisher = func(p control.Publisher) control.Publisher { return interruptedPublisher{p, at} }
	h.indexes = func(i ingest.Indexes) ingest.Indexes { return interruptedIndexes{i, at} }
	return h
}

// interruption causes a fault at one step.
type interruption struct {
	point string
	past  atomic.Bool
}

// errUnreported is the time-out reported for a step that was in fact executed.
var errUnreported = &domain.Error{Code: domain.CodeUnavailable, Message: "no answer in time", Err: context.DeadlineExceeded}

// step calls `do`. Depending on the fault, it kills the process before or after the call, or returns the error `untold`
// although `do` succeeded.
func (i *interruption) step(name string, untold error, do func() error) error {
	i.die("kill before " + name)
	if err := do(); err != nil {
		return err
	}
	i.die("kill after " + name)
	if i.point == "untold "+name && i.past.CompareAndSwap(false, true) {
		return untold
	}
	return nil
}

func (i *interruption) die(point string) {
	if i.point != point {
		return
	}
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
	select {} // wait until the signal arrives
}

type interruptedClaims struct {
	idempotency.Store
	at *interruption
}

func (c interruptedClaims) BeginIdempotent(ctx context.Context, ws, key, hash string) (claim *catalog.Claim, stored *catalog.StoredResponse, err error) {
	err = c.at.step("claim", errUnreported, func() error {
		claim, stored, err = c.Store.BeginIdempotent(ctx, ws, key, hash)
		return err
	})
	return claim, stored, err
}

type interruptedDatasources struct {
	api.DatasourceStore
	at *interruption
}

func (c interruptedDatasources) CreateDatasources(ctx context.Context, in []catalog.NewDatasource) (out []domain.Datasource, err error) {
	err = c.at.step("commit", errUnreported, func() error {
		out, err = c.DatasourceStore.CreateDatasources(ctx, in)
		return err
	})
	return out, err
}

func (c interruptedClaims) FinishIdempotent(ctx context.Context, claim *catalog.Claim, r catalog.StoredResponse) error {
	return c.at.step("answer", errUnreported, func() error { return c.Store.FinishIdempotent(ctx, claim, r) })
}

type interruptedOriginals struct {
	api.Originals
	at *interruption
}

func (o interruptedOriginals) Put(ctx context.Context, id, name, mimeType string, r io.Reader) (kept domain.Original, err error) {
	err = o.at.step("content", errUnreported, func() error {
		kept, err = o.Originals.Put(ctx, id, name, mimeType, r)
		return err
	})
	return kept, err
}

type interruptedPublisher struct {
	control.Publisher
	at *interruption
}

func (p interruptedPublisher) Publish(ctx context.Context, job domain.Job) (generation uint64, err error) {
	err = p.at.step("publish", jobs.ErrUnavailable, func() error {
		generation, err = p.Publisher.Publish(ctx, job)
		return err
	})
	return generation, err
}

type interruptedIndexes struct {
	ingest.Indexes
	at *interruption
}

func (i interruptedIndexes) Index(engine domain.Engine) (ingest.Index, error) {
	idx, err := i.Indexes.Index(engine)
	return interruptedIndex{idx, i.at}, err
}

type interruptedIndex struct {
	ingest.Index
	at *interruption
}

func (i interruptedIndex) Write(ctx context.Context, space index.Space, rows []index.Row) error {
	return i.at.step("rows", context.DeadlineExceeded, func() error { return i.Index.Write(ctx, space, rows) })
}

// TestAnUploadWithAKeyIsStoredOnceWhereverItsProcessDies kills the process before or after each of an upload's writes,
// or executes the write but reports a time-out. It then retries the upload with the same key. There must be exactly one
// datasource, which contains each chunk once.
func TestAnUploadWithAKeyIsStoredOnceWhereverItsProcessDies(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.start()
	store := p.newDatastore()
	p.must(p.terminate())
	all, words := map[string]*once{}, map[string]string{}
	for n, point := range points() {
		words[point] = fmt.Sprintf("numbat%02dx", n)
		var form bytes.Buffer
		w := multipart.NewWriter(&form)
		p.must(w.WriteField("datastoreId", store))
		part, err := w.CreateFormFile("file", words[point]+".txt")
		p.must(err)
		_, err = part.Write([]byte(aboutWord(words[point])))
		p.must(err)
		p.must(w.Close())
		all[point] = newOnce("/datasources", w.FormDataContentType(), form.Bytes())
		p.env = []string{pointVariable + "=" + point}
		p.start()
		all[point].send(p)
		if strings.HasPrefix(point, "kill ") {
			select {
			case err := <-p.exited:
				p.exited <- err
			case <-time.After(time.Minute):
				t.Fatalf("the process has not come to %q\n%s", point, tail(p.stderr.String(), 2000))
			}
			p.env = nil // no fault, so that accepted uploads are completed before the next one
			p.start()
		}
		p.settled(store, time.Minute)
		p.must(p.terminate())
	}
	p.env = nil
	p.start()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var settling sync.WaitGroup
	for point, o := range all {
		settling.Go(func() {
			if err := o.settle(ctx, p); err != nil {
				t.Errorf("%s: the upload is not answered: %v", point, err)
			}
		})
	}
	settling.Wait()
	have := map[string]source{}
	for _, s := range p.settled(store, 2*time.Minute) {
		if _, twice := have[s.Name]; twice {
			t.Errorf("%s is there twice", s.Name)
		}
		have[s.Name] = s
	}
	for point, word := range words {
		s := have[word+".txt"]
		if s.Status != "synched" || s.Chunks != 1 || len(all[point].ids) != 1 || s.ID != all[point].ids[0] {
			t.Errorf("%s: the datasource is %+v, the answer was %v", point, s, all[point].ids)
		}
		if n := p.countHits(store, word); n != 1 {
			t.Errorf("%s: the text is found %d times", point, n)
		}
	}
	if len(have) != len(words) {
		t.Errorf("%d datasources are there, of %d uploads", len(have), len(words))
	}
	p.must(p.terminate())
	checkRows(t, p.dir, store)
}
