package extract

import (
	"archive/zip"
	"bytes"
	"io"
	"strings"
	"testing"
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
					create = z.CreateRaw // which tells sizes before the part, as programs do, not behind it
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
			if found, err := repack(io.Discard, file.Bytes(), 3<<10); found != 3 || err != nil {
				t.Errorf("repack found %d parts, %v, want 3", found, err)
			}
			_, err := repack(io.Discard, file.Bytes(), 2500)
			if KindOf(err) != TooLarge || !strings.Contains(err.Error(), sizeText(2500)) {
				t.Errorf("error = %v, want TooLarge that names %s", err, sizeText(2500))
			}
		})
	}
}
