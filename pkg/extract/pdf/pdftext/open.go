// Package pdftext reads the text of PDF files as lines with positions.
//
// It walks the page tree, interprets content streams and builds words and lines from the positions of glyphs. Package
// pdfobject finds, decrypts and unpacks the objects, and package pdffont decodes the fonts. The objects are values of
// the ledongthuc/pdf library, which panics on unexpected input; this package recovers from its panics. It cannot
// recover from fatal runtime errors, such as running out of memory, so the caller must contain them. Only package pdf
// imports this package.
package pdftext

import (
	"bytes"
	"context"
	"errors"
	"math"

	"github.com/ledongthuc/pdf"
	"github.com/sluice/sluice/pkg/extract/pdf/pdffont"
	"github.com/sluice/sluice/pkg/extract/pdf/pdfobject"
)

// ErrEncrypted means that the file needs a password.
var ErrEncrypted = pdfobject.ErrEncrypted

// Document is an open PDF file. It is not safe for concurrent use.
type Document struct {
	file   *pdfobject.File
	fonts  *pdffont.Cache
	pages  []pageRef
	layers map[uint32]bool // hidden optional content groups; nil until needed
	// Stats counts the glyphs on the pages read so far.
	Stats Stats
	// Rebuilt is set if the file's cross references were unusable and were rebuilt from its objects.
	Rebuilt bool
	// CutShort is set if a rebuilt file has no end marker. It's then truncated, and pages may be missing.
	CutShort bool
}

// Stats holds the numbers of decoded and undecoded glyphs in a document.
type Stats struct {
	Glyphs    int // shown glyphs
	Undecoded int // glyphs without a known character
	Odd       int // glyphs decoded to control or private-use characters
}

// endWindow is the number of bytes at the end of a file that must contain the end marker (ISO 32000-1, section 7.5.5,
// note on readers).
const endWindow = 1024

const (
	maxPages = 100_000
	maxDepth = 64 // maximum depth of the page tree, the outline and a field's parents
)

// Open opens a file through its cross references or, if they are invalid, by searching for objects. It returns
// ErrEncrypted if a password is needed.
func Open(data []byte) (*Document, error) {
	start := bytes.Index(data[:min(len(data), 1024)], []byte("%PDF-"))
	if start < 0 {
		return nil, errors.New("the header is missing")
	}
	d, first := open(data[start:], false)
	if first == nil || errors.Is(first, ErrEncrypted) {
		return d, first
	}
	d, err := open(data[start:], true)
	if err != nil {
		return nil, errors.Join(first, err)
	}
	d.Rebuilt = true
	d.CutShort = !bytes.Contains(data[max(0, len(data)-endWindow):], []byte("%%EOF"))
	return d, nil
}

func open(data []byte, search bool) (d *Document, err error) {
	defer pdfobject.Recover(&err)
	f, err := pdfobject.Open(data, search)
	if err != nil {
		return nil, err
	}
	d = &Document{file: f, fonts: pdffont.NewCache(f)}
	d.collectPages()
	if len(d.pages) == 0 && search && f.ListPages(maxPages) == nil {
		d.collectPages()
	}
	if len(d.pages) == 0 {
		return nil, errors.New("the file has no pages")
	}
	return d, nil
}

// HasContent reports whether the bytes contain objects and streams. Page content and packed objects are always in
// streams. So if a file has no streams, no reader can find text or pictures in it.
func HasContent(data []byte) bool {
	return bytes.Contains(data, []byte("stream")) && pdfobject.HasObjects(data)
}

// pageRef is a page with its inherited attributes.
type pageRef struct {
	kids  pdf.Value // Kids array of the page's parent; the page itself is read when needed and not kept
	index int
	above *pageAttributes
}

// pageAttributes holds the attributes that pages inherit. All pages under a node share it. Looking up the attributes
// through each page's parents would be slow, because every lookup would read the node's long list of pages.
type pageAttributes struct{ resources, mediaBox, cropBox, rotate pdf.Value }

// forChildren returns the attributes inherited by the pages under a node.
func (h pageAttributes) forChildren(node pdf.Value) *pageAttributes {
	for key, to := range map[string]*pdf.Value{"Resources": &h.resources, "MediaBox": &h.mediaBox, "CropBox": &h.cropBox, "Rotate": &h.rotate} {
		if own := node.Key(key); own.Kind() != pdf.Null {
			*to = own
		}
	}
	return &h
}

func (p pageRef) value() pdf.Value { return p.kids.Index(p.index) }

// collectPages walks the page tree, up to a maximum depth and number of pages. It ignores the counts stored in the
// tree.
func (d *Document) collectPages() {
	budget := 4 * maxPages
	open := map[uint32]bool{} // nodes visited so far; each may occur only once
	var walk func(node pdf.Value, above *pageAttributes, depth int)
	walk = func(node pdf.Value, above *pageAttributes, depth int) {
		above = above.forChildren(node)
		kids := node.Key("Kids")
		for i := range kids.Len() {
			if budget--; budget < 0 || depth > maxDepth || len(d.pages) >= maxPages {
				return
			}
			func() {
				var err error
				defer pdfobject.Recover(&err) // if a node is broken, only the pages below it are missing
				kid := kids.Index(i)
				n := pdfobject.ObjectNumber(kid)
				switch {
				case kid.Kind() != pdf.Dict:
				case kid.Key("Kids").Kind() != pdf.Array:
					d.pages = append(d.pages, pageRef{kids, i, above})
				case n == 0 || !open[n]:
					open[n] = true
					walk(kid, above, depth+1)
				}
			}()
		}
	}
	walk(d.file.Trailer().Key("Root").Key("Pages"), &pageAttributes{}, 0)
}

// pageResources returns a page's own or inherited resources.
func (d *Document) pageResources(p pageRef) pdf.Value {
	if own := p.value().Key("Resources"); own.Kind() == pdf.Dict {
		return own
	}
	return p.above.resources
}

// NumPages returns the number of pages found.
func (d *Document) NumPages() int { return len(d.pages) }

// Page is the content read from a page.
type Page struct {
	Lines  []Line // in drawing order
	Drawn  Drawn
	Fields []Field
	Unseen Unseen

	Pictured float64 // share of the page covered by pictures, from 0 to 1
	Shapes   int     // filled shapes with curves, such as letters drawn as shapes
	Layered  int     // invisible glyphs over pictures, as in a scanned page's text layer
}

// Page reads page i, counted from 0. If it fails, it also returns the content read so far.
func (d *Document) Page(ctx context.Context, i int) (page Page, err error) {
	in := &interpreter{ctx: ctx, doc: d, out: &lineBuilder{}, budget: 2_000_000, before: d.Stats}
	func() {
		defer pdfobject.Recover(&err)
		err = in.page(d.pages[i])
	}()
	in.countInvisible()
	return Page{
		Lines: in.out.finish(), Drawn: in.drawn, Fields: in.fields, Unseen: in.unseen,
		Pictured: min(in.pictured, 1), Shapes: in.shapes, Layered: in.layered,
	}, err
}

// HasImage reports whether page i, counted from 0, has pictures, as scanned pages do.
func (d *Document) HasImage(i int) (has bool) {
	var err error
	defer pdfobject.Recover(&err)
	objects := d.pageResources(d.pages[i]).Key("XObject")
	for _, name := range objects.Keys() {
		if objects.Key(name).Key("Subtype").Name() == "Image" {
			return true
		}
	}
	return false
}

// matrix is a PDF transformation [a b c d e f].
type matrix [6]float64

var identity = matrix{1, 0, 0, 1, 0, 0}

// mul returns the matrix that applies first m and then n.
func (m matrix) mul(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// maxMagnitude is the maximum absolute value of a coordinate or matrix element.
const maxMagnitude = 1e9

// moved returns the matrix that translates by x and y and then applies m.
func (m matrix) moved(x, y float64) matrix {
	m[4], m[5] = x*m[0]+y*m[2]+m[4], x*m[1]+y*m[3]+m[5]
	return m
}

// inverse returns a matrix's inverse, or the identity if it has none.
func (m matrix) inverse() matrix {
	det := m[0]*m[3] - m[1]*m[2]
	if det == 0 {
		return identity
	}
	a, b, c, d := m[3]/det, -m[1]/det, -m[2]/det, m[0]/det
	return matrix{a, b, c, d, -(m[4]*a + m[5]*c), -(m[4]*b + m[5]*d)}
}

func (m matrix) finite() bool {
	for _, v := range m {
		if !(math.Abs(v) <= maxMagnitude) { // the negation also catches NaN
			return false
		}
	}
	return true
}
