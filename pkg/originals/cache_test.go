package originals

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

func TestASmallOriginalIsReadFromTheCacheOnce(t *testing.T) {
	t.Parallel()
	s := open(t, Options{CacheBytes: 2 * chunkSize})
	for name, size := range map[string]int{"small": 100, "one chunk": chunkSize, "empty": 0, "two chunks": chunkSize + 1} {
		t.Run(name, func(t *testing.T) {
			key, want := UploadKey(domain.NewID()), content(size)
			if _, err := s.Put(testContext(t), key, bytes.NewReader(want), PutOptions{MaxBytes: 1 << 20}); err != nil {
				t.Fatal(err)
			}
			_, keeps := s.cache.byKey[key]
			if want := size > 0 && size <= chunkSize; keeps != want {
				t.Errorf("kept: %t, want %t", keeps, want)
			}
			for range 2 { // the second read is always from the store
				r, err := s.Take(testContext(t), key)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(r)
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("%d bytes, error %v, want %d bytes", len(got), err, len(want))
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
			if s.cache.bytes != 0 || len(s.cache.byKey) != 0 {
				t.Errorf("%d bytes are kept after they were taken", s.cache.bytes)
			}
		})
	}
}

func TestDeletedContentIsNotCached(t *testing.T) {
	t.Parallel()
	s := open(t, Options{CacheBytes: chunkSize})
	key := UploadKey(domain.NewID())
	if _, err := s.Put(testContext(t), key, bytes.NewReader(content(10)), PutOptions{MaxBytes: 10}); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(testContext(t), key); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Take(testContext(t), key); !errors.Is(err, ErrNotFound) {
		t.Errorf("the error is %v", err)
	}
}

func TestAFailedPutIsNotCached(t *testing.T) {
	t.Parallel()
	s := open(t, Options{CacheBytes: chunkSize})
	key := UploadKey(domain.NewID())
	if _, err := s.Put(testContext(t), key, bytes.NewReader(content(11)), PutOptions{MaxBytes: 10}); !errors.Is(err, ErrTooLarge) {
		t.Fatalf("the error is %v", err)
	}
	if len(s.cache.byKey) != 0 {
		t.Error("something is kept")
	}
}

func TestOlderContentStaysCachedForAMinute(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := newContentCache(100, func() time.Time { return now })
	has := func(key string) bool { return r.byKey[key] != nil }
	r.add("a", make([]byte, 60))
	r.add("b", make([]byte, 41)) // does not fit
	now = now.Add(minCacheTime)
	r.add("c", make([]byte, 40))
	r.add("d", make([]byte, 1)) // does not fit
	if !has("a") || has("b") || !has("c") || has("d") || r.bytes != 100 {
		t.Errorf("%v and %d bytes are kept, want a and c, 100", r.byKey, r.bytes)
	}
	now = now.Add(time.Second)
	r.add("e", make([]byte, 50)) // replaces a, which is old enough
	if has("a") || !has("c") || !has("e") || r.bytes != 90 {
		t.Errorf("%v and %d bytes are kept, want c and e, 90", r.byKey, r.bytes)
	}
	if got, ok := r.take("c"); !ok || len(got) != 40 || has("c") || r.bytes != 50 {
		t.Errorf("took %d bytes (%t), and %d are left", len(got), ok, r.bytes)
	}
	var none *contentCache
	none.add("a", nil)
	if _, ok := none.take("a"); ok {
		t.Error("nothing is kept, and something is taken")
	}
}
