package extract

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
)

// packedBookPDF is a book whose dictionaries lie in object streams, with fonts that say themselves what their
// characters are; every page shows text in two of them.
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
		write(stream("", table.String()+"endbfchar"))
	}
	for i := range pages {
		write(stream("", pdfLines("F1", 9, 72, 780, repeated("page %d keeps line %d of what was seen at the gate", i, 22)...)+pdfLines("F2", 9, 72, 480, repeated("and day %d has line %d of what was heard", i, 22)...)))
	}
	const each = 100 // objects of an object stream
	for from := 1; from < firstStream; from += each {
		var numbers, objects strings.Builder
		to := min(from+each, firstStream)
		for n := from; n < to; n++ {
			fmt.Fprintf(&numbers, "%d %d ", n, objects.Len())
			objects.WriteString(dicts[n] + "\n")
			entries[n] = entry{2, len(entries), n - from}
		}
		write(stream(fmt.Sprintf("/Type /ObjStm /N %d /First %d", to-from, numbers.Len()), numbers.String()+objects.String()))
	}
	at := b.Len()
	entries = append(entries, entry{1, at, 0})
	var table bytes.Buffer
	for _, e := range entries {
		table.Write([]byte{byte(e.kind), byte(e.where >> 24), byte(e.where >> 16), byte(e.where >> 8), byte(e.where), byte(e.index)})
	}
	fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\nstartxref\n%d\n%%%%EOF", len(entries)-1, stream(fmt.Sprintf("/Type /XRef /Size %d /W [1 4 1] /Root 1 0 R", len(entries)), table.String()), at)
	return b.Bytes()
}

func repeated(format string, n, lines int) []string {
	texts := make([]string, lines)
	for i := range texts {
		texts[i] = fmt.Sprintf(format, n, i)
	}
	return texts
}

// strangePDF is a book of pages with many glyphs without a known meaning, so that PDFium is asked for every page: some 500
// characters of each are known, and 60 in each of so many strange lines are not.
func strangePDF(strangeLines ...int) []byte {
	pages := len(strangeLines)
	contents := make([]string, pages)
	for i, n := range strangeLines {
		var strange strings.Builder
		strange.WriteString("BT /F9 11 Tf 72 600 Td 14 TL ")
		for line := range n { // no two alike: PDFium reads what is shown twice once
			strange.WriteString("<")
			for c := range 60 {
				fmt.Fprintf(&strange, "%02x", 14+(line+c*(line+1))%18)
			}
			strange.WriteString("> ' ")
		}
		contents[i] = pdfLines("F1", 11, 72, 780, repeated("page %d keeps line %d of what was seen at the gate", i, 12)...) + strange.String() + "ET\n"
	}
	objects := pageObjects(contents...)
	font := "/F9 << /Type /Font /Subtype /Type1 /BaseFont /X /FirstChar 14 /LastChar 31 /Widths [" + strings.Repeat("500 ", 18) + "] /Encoding << /Differences [14" + strings.Repeat(" /c99", 18) + "] >> >> "
	objects[2] = strings.Replace(objects[2], "/F1 ", font+"/F1 ", 1)
	return pdfOf(objects...)
}

// TestMemoryDoesNotGrowWithPages reads books of many pages in a child and looks at the most memory it ever had.
func TestMemoryDoesNotGrowWithPages(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("reading 2,000 pages takes seconds")
	}
	const pages, slow = 2000, 300 // PDFium reads 40 pages a second
	tests := map[string]struct {
		pages int
		data  []byte
		line  string // that is on every page
		route string
	}{
		"of ordinary text": {pages, bookPDF(pages), "wrote line 20 of the log", "pdf/own"},
		"with object streams and three hundred fonts": {pages, packedBookPDF(pages, 300), "has line 21 of what", "pdf/own"},
		"that PDFium reads":                           {slow, strangePDF(slices.Repeat([]int{6}, slow)...), "keeps line 11 of what", "pdf/pdfium"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if strings.HasPrefix(tt.route, "pdf/pdfium") { // compile it here: it is compiled once for all children
				if _, err := parseBytes(t, "a.pdf", strangePDF(6)); err != nil {
					t.Fatal(err)
				}
			}
			x := newTestExtractor(t, Options{Concurrency: 1, CacheDir: compiled})
			var last domain.Block
			found := 0
			doc, err := x.Extract(t.Context(), Request{Reader: bytes.NewReader(tt.data), Name: "book.pdf"})
			if err != nil {
				t.Fatal(err)
			}
			for _, last = range doc.Blocks {
				found += strings.Count(last.Text, tt.line)
			}
			if doc.Pages != tt.pages || last.Page != tt.pages || found != tt.pages || !strings.HasPrefix(doc.Route, tt.route) {
				t.Errorf("%d pages by %q, the last block on page %d, %d times a line of every page; want %d by %q", doc.Pages, doc.Route, last.Page, found, tt.pages, tt.route)
			}
			const most = 150 << 10 // KiB
			if peak := peakMemory(t, x.idle[0].process().Pid); peak > most {
				t.Errorf("the child had %d KiB of memory, want at most %d", peak, most)
			} else {
				t.Logf("the child had %d MiB at most", peak>>10)
			}
		})
	}
}

// peakMemory is the most memory that a living process ever had, in KiB. What is told of one that has ended counts the memory
// of the process that started it, too.
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
