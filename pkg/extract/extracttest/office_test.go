package extracttest

import (
	"archive/zip"
	"bytes"
	"io"
	"strings"
	"testing"
)

func TestZipRepeatsItsParts(t *testing.T) {
	t.Parallel()
	data := Zip(t, map[string]string{"a.xml": "<a>one</a>"}, 3)
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := r.Open("a.xml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(f) // checks the size and the checksum
	if want := strings.Repeat("<a>one</a>", 3); err != nil || string(got) != want || r.File[0].UncompressedSize64 != uint64(len(want)) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
