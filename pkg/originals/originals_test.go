package originals

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
	"go.uber.org/goleak"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs"
	"github.com/sluice/sluice/pkg/jobs/natsd"
	"github.com/sluice/sluice/pkg/jobs/natstest"
)

func TestMain(m *testing.M) {
	natstest.Main()
	if dir := os.Getenv(envChild); dir != "" {
		fmt.Fprintln(os.Stderr, child(dir))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func connect(t testing.TB, o natsd.Options) *jobs.Conn {
	t.Helper()
	o.Log = quiet
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	srv, err := natsd.Start(testContext(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Shutdown(testContext(t)); err != nil {
			t.Errorf("stopping the server: %v", err)
		}
	})
	conn, err := jobs.Connect(testContext(t), jobs.ConnectOptions{InProcess: srv, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

func open(t testing.TB, o Options) *Store {
	t.Helper()
	s, err := Open(testContext(t), connect(t, natsd.Options{NoSync: true}).JetStream(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// content returns `size` bytes, which are always the same for a given size.
func content(size int) []byte {
	data := make([]byte, size)
	random := rand.NewChaCha8([32]byte{byte(size)})
	_, _ = random.Read(data) // never fails
	return data
}

func messages(t testing.TB, s *Store) uint64 {
	t.Helper()
	info, err := s.stream.Info(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	return info.State.Msgs
}

func read(t testing.TB, s *Store, key string) ([]byte, error) {
	t.Helper()
	r, err := s.Get(testContext(t), key)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

func TestPutAndGet(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	for _, size := range []int{0, 1, chunkSize - 1, chunkSize, chunkSize + 1, 3*chunkSize + 17} {
		t.Run(fmt.Sprintf("%d bytes come back as they were", size), func(t *testing.T) {
			t.Parallel()
			data := content(size)
			key := UploadKey(domain.NewID())
			// Short reads, as from a slow network.
			got, err := s.Put(testContext(t), key, iotest.HalfReader(bytes.NewReader(data)), PutOptions{
				MaxBytes: int64(size) + 1, MIMEType: "text/plain", Name: "a.txt",
			})
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256(data)
			want := domain.Original{Key: key, SHA256: hex.EncodeToString(sum[:]), Size: int64(size), MIMEType: "text/plain", Name: "a.txt"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("original (-want +got):\n%s", diff)
			}
			back, err := read(t, s, key)
			if err != nil || !bytes.Equal(back, data) {
				t.Errorf("read %d bytes, error %v", len(back), err)
			}
		})
	}
}

func TestPutTakesContentAsLargeAsTheLimit(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	for _, size := range []int{1, chunkSize, chunkSize + 5} {
		if _, err := s.Put(testContext(t), UploadKey(domain.NewID()), bytes.NewReader(content(size)), PutOptions{MaxBytes: int64(size)}); err != nil {
			t.Errorf("%d bytes under a limit of %d: %v", size, size, err)
		}
	}
}

func TestPutThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for name, c := range map[string]struct {
		ctx    context.Context
		reader io.Reader
		limit  int64
		want   error
	}{
		"content over the limit":               {context.Background(), bytes.NewReader(content(2*chunkSize + 1)), 2 * chunkSize, ErrTooLarge},
		"content without end":                  {context.Background(), zeros{}, 5 * chunkSize, ErrTooLarge},
		"a reader that breaks":                 {context.Background(), io.MultiReader(bytes.NewReader(content(2*chunkSize)), iotest.ErrReader(broken)), 1 << 30, broken},
		"an upload that was cut off":           {context.Background(), io.MultiReader(bytes.NewReader(content(10)), iotest.ErrReader(io.ErrUnexpectedEOF)), 1 << 30, io.ErrUnexpectedEOF},
		"a reader that always returns nothing": {context.Background(), nothing{}, 1 << 30, io.ErrNoProgress},
		"a context that has ended":             {ctx, bytes.NewReader(content(10)), 1 << 30, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, Options{})
			key := UploadKey(domain.NewID())
			if _, err := s.Put(c.ctx, key, c.reader, PutOptions{MaxBytes: c.limit}); !errors.Is(err, c.want) {
				t.Errorf("error is %v, want %v", err, c.want)
			}
			if n := messages(t, s); n != 0 {
				t.Errorf("%d messages are left", n)
			}
			if _, err := read(t, s, key); !errors.Is(err, ErrNotFound) {
				t.Errorf("reading: error is %v, want ErrNotFound", err)
			}
		})
	}
}

func TestPutWhoseContextEndsHalfwayLeavesNothing(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r := io.MultiReader(bytes.NewReader(content(2*chunkSize)), readerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil }))
	if _, err := s.Put(ctx, UploadKey(domain.NewID()), r, PutOptions{MaxBytes: 1 << 30}); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	if n := messages(t, s); n != 0 {
		t.Errorf("%d messages are left", n)
	}
}

func TestAKeyIsUsedOnce(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	data := content(chunkSize + 1)
	key := UploadKey(domain.NewID())
	o := PutOptions{MaxBytes: 1 << 30}
	first, err := s.Put(testContext(t), key, bytes.NewReader(data), o)
	if err != nil {
		t.Fatal(err)
	}
	before := messages(t, s)
	second, err := s.Put(testContext(t), key, bytes.NewReader(data), o)
	if err != nil || second != first {
		t.Errorf("the same content again: %+v, %v", second, err)
	}
	if _, err := s.Put(testContext(t), key, strings.NewReader("other"), o); !errors.Is(err, ErrExists) {
		t.Errorf("other content: error is %v, want ErrExists", err)
	}
	if after := messages(t, s); after != before {
		t.Errorf("%d messages before, %d after", before, after)
	}
	if back, err := read(t, s, key); err != nil || !bytes.Equal(back, data) {
		t.Errorf("the first content is gone: %d bytes, %v", len(back), err)
	}
}

func TestGetChecksWhatItReads(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	ctx := testContext(t)
	put := func() (string, jetstream.ObjectInfo) {
		key := UploadKey(domain.NewID())
		if _, err := s.Put(ctx, key, bytes.NewReader(content(2*chunkSize)), PutOptions{MaxBytes: 1 << 30}); err != nil {
			t.Fatal(err)
		}
		info, err := s.lookUp(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		return key, info
	}
	// isDamaged checks that damage is reported before the first byte.
	isDamaged := func(key string) {
		t.Helper()
		if _, err := s.Verified(ctx, key); !errors.Is(err, ErrCorrupt) {
			t.Errorf("verified: error is %v, want ErrCorrupt", err)
		}
		_, err := Uploads{Store: s}.Get(ctx, key)
		if domain.CodeOf(err) != domain.CodeNotFound || !strings.Contains(err.Error(), "is damaged, so upload it again") {
			t.Errorf("for a request: error is %v", err)
		}
	}
	t.Run("a chunk that changed", func(t *testing.T) {
		key, info := put()
		if err := s.stream.Purge(ctx, jetstream.WithPurgeSubject(chunkPrefix+info.NUID)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := s.js.Publish(ctx, chunkPrefix+info.NUID, make([]byte, chunkSize)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := read(t, s, key); !errors.Is(err, ErrCorrupt) {
			t.Errorf("error is %v, want ErrCorrupt", err)
		}
		isDamaged(key)
	})
	t.Run("a chunk that is missing", func(t *testing.T) {
		key, info := put()
		if err := s.stream.Purge(ctx, jetstream.WithPurgeSubject(chunkPrefix+info.NUID), jetstream.WithPurgeKeep(1)); err != nil {
			t.Fatal(err)
		}
		if _, err := read(t, s, key); !errors.Is(err, ErrCorrupt) {
			t.Errorf("error is %v, want ErrCorrupt", err)
		}
		isDamaged(key)
	})
	t.Run("an original deleted while it is read", func(t *testing.T) {
		key, _ := put()
		r, err := s.Get(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if _, err := r.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(ctx, key); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(r); !errors.Is(err, ErrNotFound) {
			t.Errorf("error is %v, want ErrNotFound", err)
		}
	})
	t.Run("a reader that was closed", func(t *testing.T) {
		key, _ := put()
		r, err := s.Get(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(r); err == nil {
			t.Error("reading after Close succeeded")
		}
	})
}

func TestDeleteLeavesNothingAndMayBeRepeated(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	key := UploadKey(domain.NewID())
	if _, err := s.Put(testContext(t), key, bytes.NewReader(content(2*chunkSize)), PutOptions{MaxBytes: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Delete(testContext(t), key); err != nil {
			t.Fatal(err)
		}
	}
	if n := messages(t, s); n != 0 {
		t.Errorf("%d messages are left", n)
	}
}

func TestEachFindsAllOriginals(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	want := map[string]int64{}
	for i := range 5 {
		key := UploadKey(domain.NewID())
		if _, err := s.Put(testContext(t), key, bytes.NewReader(content(i*10)), PutOptions{MaxBytes: 1 << 20}); err != nil {
			t.Fatal(err)
		}
		want[key] = int64(i * 10)
	}
	got := map[string]int64{}
	err := s.Each(testContext(t), func(key string, size int64, modTime time.Time) error {
		if time.Since(modTime) > time.Minute || time.Until(modTime) > time.Minute {
			t.Errorf("modification time of %s is %s", key, modTime)
		}
		got[key] = size
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("originals (-want +got):\n%s", diff)
	}
	stop := errors.New("stop")
	if err := s.Each(testContext(t), func(string, int64, time.Time) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("error of the callback: got %v", err)
	}
}

func TestPruneRemovesOnlyOldChunksWithoutAnOriginal(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := open(t, Options{Now: func() time.Time { return now }})
	ctx := testContext(t)
	key := UploadKey(domain.NewID())
	if _, err := s.Put(ctx, key, bytes.NewReader(content(100)), PutOptions{MaxBytes: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.js.Publish(ctx, chunkPrefix+"killed", []byte("half an upload")); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Prune(ctx); n != 0 || err != nil {
		t.Errorf("a young chunk: pruned %d, %v", n, err)
	}
	now = now.Add(2*MaxPutTime + time.Minute)
	if n, err := s.Prune(ctx); n != 1 || err != nil {
		t.Errorf("an old chunk: pruned %d, %v, want 1", n, err)
	}
	if _, err := read(t, s, key); err != nil {
		t.Errorf("the original is damaged: %v", err)
	}
}

func TestTheNatsClientReadsTheStore(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	ctx := testContext(t)
	data, key := content(chunkSize+3), UploadKey(domain.NewID())
	if _, err := s.Put(ctx, key, bytes.NewReader(data), PutOptions{MaxBytes: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	bucket, err := s.js.ObjectStore(ctx, Bucket)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := bucket.GetBytes(ctx, key); err != nil || !bytes.Equal(back, data) {
		t.Errorf("read %d bytes, %v", len(back), err)
	}
	if err := bucket.Delete(ctx, key); err != nil { // leaves a marker
		t.Fatal(err)
	}
	if _, err := s.Get(ctx, key); !errors.Is(err, ErrNotFound) {
		t.Errorf("deleted by another client: error is %v, want ErrNotFound", err)
	}
}

func TestAttach(t *testing.T) {
	t.Parallel()
	conn := connect(t, natsd.Options{NoSync: true})
	attached := make(chan error, 1)
	ctx := testContext(t)
	go func() {
		_, err := Attach(ctx, conn.JetStream(), Options{})
		attached <- err
	}()
	for range 2 { // opening twice changes nothing
		if _, err := Open(ctx, conn.JetStream(), Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-attached; err != nil {
		t.Error(err)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	id := domain.NewID()
	if a, b := UploadKey(id), UploadKey(id); a == b {
		t.Errorf("two uploads have the same key %s", a)
	}
	if a, b := PageKey(id, 7, "ab"), PageKey(id, 7, "ab"); a != b {
		t.Errorf("the same page has keys %s and %s", a, b)
	}
	for _, key := range []string{UploadKey(id), PageKey(id, 18446744073709551615, strings.Repeat("f", 64))} {
		if got, err := DatasourceID(key); err != nil || got != id {
			t.Errorf("datasource of %s is %q, %v", key, got, err)
		}
	}
	s := open(t, Options{})
	for _, key := range []string{"", id, id + ".", "." + id, "x.y", id + ".A/..", id + "." + strings.Repeat("a", maxSuffix+1), id + ".\x00"} {
		if _, err := DatasourceID(key); !errors.Is(err, ErrInvalidKey) {
			t.Errorf("key %q: error is %v, want ErrInvalidKey", key, err)
		}
		if _, err := s.Put(testContext(t), key, strings.NewReader("x"), PutOptions{MaxBytes: 1}); !errors.Is(err, ErrInvalidKey) {
			t.Errorf("putting under key %q: error is %v, want ErrInvalidKey", key, err)
		}
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, nil }

func TestAnOriginalStaysWhoseLastAnswerWasLost(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	o := PutOptions{MaxBytes: 100}
	p := &put{Store: s, key: UploadKey(domain.NewID()), opts: o, id: nuid.Next()}
	want, err := p.run(testContext(t), strings.NewReader("kept"))
	if err != nil {
		t.Fatal(err)
	}
	// The writer doesn't know that it has succeeded, but another Put has already found the original.
	if again, err := s.Put(testContext(t), p.key, strings.NewReader("kept"), o); err != nil || again != want {
		t.Fatalf("putting it again: %+v, %v", again, err)
	}
	if sealed, err := p.clean(testContext(t), cleanTimeout); !sealed || err != nil {
		t.Errorf("the original counts as lost: %v", err)
	}
	if exists, err := s.Exists(testContext(t), p.key); !exists || err != nil {
		t.Errorf("the original is gone: %v", err)
	}
}
