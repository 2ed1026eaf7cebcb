package extract_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

// packedBookPDF returns a book whose dictionaries are in object streams. Its fonts have ToUnicode maps, and every page
// uses two of the fonts.
func packedBookPDF(pages, fonts int) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.5\n")
	firstFont, firstPage := 3, 3+fonts
	firstStream := firstPage + pages // the fonts' tables, then the pages' contents
	dicts := make([]string, firstStream)
	dicts[1] = "<< /Type /Catalog /Pages 2 0 R >>"
	var kids strings.Builder
	for i := range pages {
		fmt.Fprintf(&kids, "%d 0 R ", firstPage+i)
		dicts[firstPage+i] = fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R /Resources << /Font << /F1 %d 0 R /F2 %d 0 R >> >> >>",
			firstStream+fonts+i, firstFont+i%fonts, firstFont+i*7%fonts)
	}
	dicts[2] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", kids.String(), pages)
	for i := range fonts {
		dicts[firstFont+i] = fmt.Sprintf("<< /Type /Font /Subtype /Type1 /BaseFont /F%d /FirstChar 32 /LastChar 126 /Widths [%s] /ToUnicode %d 0 R >>", i, strings.Repeat("520 ", 95), firstStream+i)
	}
	type entry struct{ kind, where, index int }
	entries := make([]entry, firstStream)
	write := func(object string) {
		entries = append(entries, entry{1, b.Len(), 0})
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(entries)-1, object)
	}
	for range fonts {
		var table strings.Builder
		table.WriteString("1 begincodespacerange <00> <ff> endcodespacerange 95 beginbfchar\n")
		for c := 32; c < 127; c++ {
			fmt.Fprintf(&table, "<%02x> <%04x>\n", c, c)
		}
		write(extracttest.Stream("", table.String()+"endbfchar"))
	}
	for i := range pages {
		write(extracttest.Stream("", extracttest.PDFLines("F1", 9, 72, 780, extracttest.Repeated("page %d keeps line %d of what was seen at the gate", i, 22)...)+extracttest.PDFLines("F2", 9, 72, 480, extracttest.Repeated("and day %d has line %d of what was heard", i, 22)...)))
	}
	const each = 100 // number of objects per object stream
	for from := 1; from < firstStream; from += each {
		var numbers, objects strings.Builder
		to := min(from+each, firstStream)
		for n := from; n < to; n++ {
			fmt.Fprintf(&numbers, "%d %d ", n, objects.Len())
			objects.WriteString(dicts[n] + "\n")
			entries[n] = entry{2, len(entries), n - from}
		}
		write(extracttest.Stream(fmt.Sprintf("/Type /ObjStm /N %d /First %d", to-from, numbers.Len()), numbers.String()+objects.String()))
	}
	at := b.Len()
	entries = append(entries, entry{1, at, 0})
	var table bytes.Buffer
	for _, e := range entries {
		table.Write([]byte{byte(e.kind), byte(e.where >> 24), byte(e.where >> 16), byte(e.where >> 8), byte(e.where), byte(e.index)})
	}
	fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\nstartxref\n%d\n%%%%EOF", len(entries)-1, extracttest.Stream(fmt.Sprintf("/Type /XRef /Size %d /W [1 4 1] /Root 1 0 R", len(entries)), table.String()), at)
	return b.Bytes()
}

// TestMemoryDoesNotGrowWithPages checks a child's peak memory after reading books with many pages.
func TestMemoryDoesNotGrowWithPages(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("reading 2,000 pages takes seconds")
	}
	const pages, slow = 2000, 300 // PDFium reads 40 pages a second
	tests := map[string]struct {
		pages int
		data  []byte
		line  string // a line that is on every page
		route string
	}{
		"of ordinary text": {pages, extracttest.BookPDF(pages), "wrote line 20 of the log", "pdf/own"},
		"with object streams and three hundred fonts": {pages, packedBookPDF(pages, 300), "has line 21 of what", "pdf/own"},
		"that PDFium reads":                           {slow, extracttest.StrangePDF(slices.Repeat([]int{6}, slow)...), "keeps line 11 of what", "pdf/pdfium"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if strings.HasPrefix(tt.route, "pdf/pdfium") { // compile PDFium just once for all children
				if _, err := readtest.Parse(t, "a.pdf", extracttest.StrangePDF(6)); err != nil {
					t.Fatal(err)
				}
			}
			x := extract.NewTestExtractor(t, extract.Options{Concurrency: 1, CacheDir: extracttest.Compiled})
			var last domain.Block
			found := 0
			doc, err := x.Extract(t.Context(), extract.Request{Reader: bytes.NewReader(tt.data), Name: "book.pdf"})
			if err != nil {
				t.Fatal(err)
			}
			for _, last = range doc.Blocks {
				found += strings.Count(last.Text, tt.line)
			}
			if doc.Pages != tt.pages || last.Page != tt.pages || found != tt.pages || !strings.HasPrefix(doc.Route, tt.route) {
				t.Errorf("%d pages by %q, the last block on page %d, %d times a line of every page; want %d by %q", doc.Pages, doc.Route, last.Page, found, tt.pages, tt.route)
			}
			const limit = 150 << 10 // KiB
			if peak := peakMemory(t, x.Idle[0].Process().Pid); peak > limit {
				t.Errorf("the child had %d KiB of memory, want at most %d", peak, limit)
			} else {
				t.Logf("the child had %d MiB at most", peak>>10)
			}
		})
	}
}

// peakMemory returns a running process's peak memory in KiB. Once the process has exited, the system's figure would
// include its parent's memory.
func peakMemory(t *testing.T, pid int) (kib int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skipf("this system does not tell the memory of a process: %v", err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatalf("reading the peak of memory from %q: %v", status, err)
	}
	return kib
}
