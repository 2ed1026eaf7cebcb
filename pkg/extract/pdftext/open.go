// Package pdftext reads the text of PDF files as lines with positions.
//
// It takes objects, cross references, decryption and inflating from github.com/ledongthuc/pdf and does the rest
// itself: it opens files that the library refuses, walks the page tree, interprets content streams, decodes fonts
// and builds words and lines from where glyphs stand. The library panics on what it does not know; nothing of
// that leaves this package. What kills the runtime (memory above all) is for the caller to contain.
package pdftext

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"

	"github.com/ledongthuc/pdf"
)

// ErrEncrypted says that the file opens only with a password.
var ErrEncrypted = errors.New("the file is encrypted")

// Document is an open PDF file. It is used by one goroutine at a time.
type Document struct {
	r     *pdf.Reader
	pages []pageRef
	fonts map[string]*font
	// Stats counts what the pages read so far consisted of.
	Stats Stats
	// Rebuilt says that the file's cross references were unusable and made anew from its objects.
	Rebuilt bool
}

// Stats tells how well the glyphs of a document could be decoded.
type Stats struct {
	Glyphs    int // shown
	Undecoded int // without a known character
	Odd       int // decoded to control characters or private use
	Failed    int // content streams that could not be read to their end
	Fonts     int // fonts used
}

const (
	maxPages  = 100_000
	maxDepth  = 64
	maxStream = 64 << 20 // inflated bytes of one stream
	maxXref   = 8_000_000
)

// Open opens a file: as it stands if its cross references are sound, else by finding its objects. It returns
// ErrEncrypted for files that need a password.
func Open(data []byte) (*Document, error) {
	start := bytes.Index(data[:min(len(data), 1024)], []byte("%PDF-"))
	if start < 0 {
		return nil, errors.New("the header is missing")
	}
	data = data[start:]
	var first error
	if end := bytes.LastIndex(data, []byte("%%EOF")); end >= 0 {
		whole := data[:end+5]
		if err := checkChain(whole); err != nil {
			first = err
		} else if d, err := open(whole); err == nil {
			return d, nil
		} else if errors.Is(err, pdf.ErrInvalidPassword) {
			return nil, ErrEncrypted
		} else {
			first = err
		}
	}
	rebuilt, err := rebuild(data)
	if err != nil {
		return nil, errors.Join(first, err)
	}
	d, err := open(rebuilt)
	if errors.Is(err, pdf.ErrInvalidPassword) {
		return nil, ErrEncrypted
	}
	if err != nil {
		return nil, errors.Join(first, err)
	}
	d.Rebuilt = true
	return d, nil
}

func open(data []byte) (d *Document, err error) {
	defer recoverTo(&err)
	f := plainHeader{bytes.NewReader(data)}
	r, err := pdf.NewReader(f, int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("opening: %w", err)
	}
	d = &Document{r: r, fonts: map[string]*font{}}
	d.collectPages()
	if len(d.pages) == 0 {
		return nil, errors.New("the file has no pages")
	}
	return d, nil
}

// plainHeader shows the library the one form of header it accepts.
type plainHeader struct{ *bytes.Reader }

func (p plainHeader) ReadAt(b []byte, off int64) (int, error) {
	n, err := p.Reader.ReadAt(b, off)
	const header = "%PDF-1.7\n"
	if off < int64(len(header)) {
		copy(b[:n], header[off:])
	}
	if n < len(b) && errors.Is(err, io.EOF) {
		clear(b[n:])
	}
	return n, err
}

var (
	startxref = regexp.MustCompile(`startxref\s+(\d+)`)
	prevEntry = regexp.MustCompile(`/Prev\s+(\d+)`)
	sizeEntry = regexp.MustCompile(`/Size\s+(\d+)`)
	// subsection is the head of a part of a reference table; the entries below it end in a letter.
	subsection = regexp.MustCompile(`[\r\n]\s*(\d{7,})[ \t]+\d+[ \t]*[\r\n]`)
)

// checkChain walks the chain of cross reference sections, which the library follows without end when it is a
// loop, and looks for sizes that it would allocate unchecked.
func checkChain(data []byte) error {
	tail := data[max(0, len(data)-2048):]
	all := startxref.FindAllSubmatch(tail, -1)
	if len(all) == 0 {
		return errors.New("startxref is missing")
	}
	at, err := strconv.Atoi(string(all[len(all)-1][1]))
	seen := map[int]bool{}
	for err == nil {
		if at >= len(data) || seen[at] {
			return errors.New("the cross references are a loop or lie outside the file")
		}
		seen[at] = true
		section := data[at:]
		// The dictionary of a section ends before the next startxref, or object's stream.
		end := len(section)
		for _, mark := range []string{"startxref", "stream"} {
			if i := bytes.Index(section[:end], []byte(mark)); i >= 0 {
				end = i
			}
		}
		section = section[:end]
		if m := sizeEntry.FindSubmatch(section); m != nil {
			if n, err := strconv.Atoi(string(m[1])); err != nil || n > maxXref || n > 64*len(data)+1024 {
				return errors.New("the cross references claim an impossible size")
			}
		}
		if m := subsection.FindSubmatch(section); m != nil && atoi(m[1]) > maxXref || m != nil && len(m[1]) > 10 {
			return errors.New("the cross references claim an impossible number")
		}
		if i := bytes.LastIndex(section, []byte("trailer")); i >= 0 {
			section = section[i:]
		}
		m := prevEntry.FindSubmatch(section)
		if m == nil {
			return nil
		}
		at, err = strconv.Atoi(string(m[1]))
	}
	return errors.New("the cross references are malformed")
}

// pageRef is a page and what it inherits.
type pageRef struct {
	v         pdf.Value
	resources pdf.Value
}

// collectPages walks the page tree with bounds on depth and number, whatever its counts say.
func (d *Document) collectPages() {
	root := d.r.Trailer().Key("Root")
	budget := 4 * maxPages
	seen := map[string]int{}
	var walk func(v, resources pdf.Value, depth int)
	walk = func(v, resources pdf.Value, depth int) {
		if budget--; budget < 0 || depth > maxDepth || len(d.pages) >= maxPages {
			return
		}
		if own := v.Key("Resources"); own.Kind() == pdf.Dict {
			resources = own
		}
		kids := v.Key("Kids")
		if kids.Kind() != pdf.Array {
			if v.Kind() == pdf.Dict {
				d.pages = append(d.pages, pageRef{v, resources})
			}
			return
		}
		key := kids.String()
		if seen[key]++; seen[key] > 4 && len(key) > 8 {
			return // the same children again and again: a loop
		}
		for i := range kids.Len() {
			func() {
				var err error
				defer recoverTo(&err) // one broken node costs its branch
				walk(kids.Index(i), resources, depth+1)
			}()
		}
	}
	walk(root.Key("Pages"), pdf.Value{}, 0)
}

// NumPages is the number of pages found.
func (d *Document) NumPages() int { return len(d.pages) }

// Title is the title in the document's properties, or "".
func (d *Document) Title() (title string) {
	var err error
	defer recoverTo(&err)
	return d.r.Trailer().Key("Info").Key("Title").Text()
}

// Language is the language the document declares, or "".
func (d *Document) Language() (lang string) {
	var err error
	defer recoverTo(&err)
	return d.r.Trailer().Key("Root").Key("Lang").Text()
}

// Page reads the lines of page i, from 0. What was read before an error is returned with it.
func (d *Document) Page(ctx context.Context, i int) (lines []Line, err error) {
	p := d.pages[i]
	b := &lineBuilder{}
	in := &interpreter{ctx: ctx, doc: d, out: b, budget: 2_000_000}
	func() {
		defer recoverTo(&err)
		err = in.page(p)
	}()
	if err != nil {
		d.Stats.Failed++
	}
	return b.finish(), err
}

// HasImage reports whether page i shows pictures, as the pages of a scan do.
func (d *Document) HasImage(i int) (has bool) {
	var err error
	defer recoverTo(&err)
	objects := d.pages[i].resources.Key("XObject")
	for _, name := range objects.Keys() {
		if objects.Key(name).Key("Subtype").Name() == "Image" {
			return true
		}
	}
	return false
}

// recoverTo turns a panic of the library into an error. Running out of memory cannot be recovered from.
func recoverTo(err *error) {
	if x := recover(); x != nil {
		*err = fmt.Errorf("malformed PDF: %v", x)
	}
}

// streamBytes reads a stream's data; of a damaged one, what comes before the damage.
func streamBytes(v pdf.Value) (data []byte, err error) {
	defer recoverTo(&err)
	r := v.Reader()
	defer r.Close()
	data, err = io.ReadAll(io.LimitReader(r, maxStream))
	if len(data) > 0 {
		err = nil
	}
	return data, err
}

// matrix is a PDF transformation [a b c d e f].
type matrix [6]float64

var identity = matrix{1, 0, 0, 1, 0, 0}

// mul is m applied before n.
func (m matrix) mul(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

func (m matrix) finite() bool {
	for _, v := range m {
		if math.IsNaN(v) || math.IsInf(v, 0) || math.Abs(v) > 1e9 {
			return false
		}
	}
	return true
}
