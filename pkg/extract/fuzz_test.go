package extract_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

// FuzzZip reads mutated zip files without unpacking them first.
func FuzzZip(f *testing.F) {
	lie := documentWith(f, nil)
	binary.LittleEndian.PutUint32(lie[bytes.LastIndex(lie, []byte("PK\x01\x02"))+24:], 10) // claimed unpacked size
	readtest.Format(f, ".pptx", string(lie), string(nestedContainers(f)), string(climbingParts(f)), string(polyglotZip(f)), string(macros(f)),
		string(extracttest.Zip(f, map[string]string{"[Content_Types].xml": "<Types/>", "ppt/slides/slide1.xml": "<p:sld/>", "": "", "a/": "", "\xff\\..\\b": "c"}, 1)))
}

func FuzzDetectType(f *testing.F) {
	f.Add([]byte("%PDF-1.7"), "a.txt", "text/plain; charset=utf-8")
	f.Add([]byte("PK\x03\x04word/"), "", "")
	f.Fuzz(func(t *testing.T, head []byte, name, declared string) {
		if got := extract.DetectType(head, name, declared); got == "" || strings.Contains(got, ";") {
			t.Errorf("DetectType = %q, want a MIME type without parameters", got)
		}
	})
}
