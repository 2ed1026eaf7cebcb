package zip

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/format"
)

func TestRepackingFindsAllPartsAndNamesTheLimitOfTheFile(t *testing.T) {
	t.Parallel()
	for name, method := range map[string]uint16{"packed parts": zip.Deflate, "stored parts": zip.Store} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var file bytes.Buffer
			z := zip.NewWriter(&file)
			for _, part := range []string{"a.xml", "b.xml", "c.xml"} {
				body := []byte(strings.Repeat("x", 1<<10))
				create := z.CreateHeader
				if method == zip.Store {
					create = z.CreateRaw // writes the sizes before the part instead of after it, as other programs do
				}
				w, err := create(&zip.FileHeader{Name: part, Method: method, CompressedSize64: 1 << 10, UncompressedSize64: 1 << 10})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := w.Write(body); err != nil {
					t.Fatal(err)
				}
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			if found, err := repack(t.Context(), io.Discard, file.Bytes(), 3<<10); found != 3 || err != nil {
				t.Errorf("repack found %d parts, %v, want 3", found, err)
			}
			_, err := repack(t.Context(), io.Discard, file.Bytes(), 2500)
			if format.KindOf(err) != format.TooLarge || !strings.Contains(err.Error(), format.SizeText(2500)) {
				t.Errorf("error = %v, want TooLarge that names %s", err, format.SizeText(2500))
			}
		})
	}
}

func TestRepackingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var packed bytes.Buffer
	z, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	_, size, err := unpackInto(ctx, writerFunc(func(b []byte) (int, error) {
		cancel() // in the middle of a part
		return len(b), nil
	}), zip.Deflate, packed.Bytes(), 1<<30)
	if !errors.Is(err, context.Canceled) || size == 1<<20 {
		t.Errorf("error = %v after %d bytes, want that of the context before the end", err, size)
	}
	_, err = repack(ctx, io.Discard, extracttest.Zip(t, map[string]string{"a.xml": "x"}, 1), 1<<30)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want that of the context", err)
	}
}

type writerFunc func(b []byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
