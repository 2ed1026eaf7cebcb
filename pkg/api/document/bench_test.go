package document

import (
	"os"
	"testing"
)

// BenchmarkRead measures reading the document, which accounts for much of the time a first start takes.
func BenchmarkRead(b *testing.B) {
	yaml, err := os.ReadFile("../openapi.yaml")
	if err != nil {
		b.Fatal(err)
	}
	l := Limits{UploadBytes: 100 << 20, JSONBytes: 10 << 20, QueryChars: 8000, Documents: 1000, PagesOfSite: 10_000}
	for b.Loop() {
		if _, err := read(yaml, l); err != nil {
			b.Fatal(err)
		}
	}
}
