package extract

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/pdftext"
)

// pdf reads PDF files by one of two ways. The first is our own text layer, which knows font sizes, table cells and
// form fields. Where measured signals say that it did not understand the file, PDFium reads it instead, compiled to
// WebAssembly and shut in a sandbox.
func (p *parser) pdf() error {
	data, err := p.src.bytes()
	if err != nil {
		return err
	}
	own, ownErr := p.readOwn(data)
	if KindOf(ownErr) == TooLarge {
		return ownErr
	}
	if ownErr == nil && own.doubt() == "" {
		p.doc.Route = "pdf/own"
		return p.emitOwn(own)
	}
	if err := p.ctx.Err(); err != nil {
		return err
	}
	if !pdftext.HasContent(data) { // starting PDFium takes seconds, and there is nothing that it could find
		if ownErr != nil {
			return damagedPDF("there are no pages in it", ownErr)
		}
		if own.letters == 0 {
			return fail(NoText, "the file has no text: %s empty", plural(own.pages, "its page is", "its %d pages are"))
		}
		p.doc.Route = "pdf/own (" + own.doubt() + ", no content)"
		return p.emitOwn(own)
	}
	why := "open"
	if ownErr == nil {
		why = own.doubt()
	}
	other, err := p.readPDFium(data)
	switch {
	case KindOf(err) == Encrypted, KindOf(err) == TooLarge:
		return err
	case err != nil && ownErr == nil && own.letters > 0 && own.readable():
		p.doc.Route = "pdf/own (" + why + ", pdfium failed)"
		p.out.warn("parts of the file are damaged and could not be read")
		return p.emitOwn(own)
	case err != nil && errors.Is(ownErr, pdftext.ErrEncrypted):
		return fail(Encrypted, "the file is protected with a password; remove the password and send it again")
	case err != nil && ownErr == nil && own.letters == 0:
		return scanned(own.pages)
	case err != nil:
		return damagedPDF("its structure cannot be read", errors.Join(ownErr, err))
	case ownErr == nil && own.preferred(other):
		p.doc.Route = "pdf/own (" + why + ", pdfium read less)"
		return p.emitOwn(own)
	}
	p.doc.Route = "pdf/pdfium (" + why + ")"
	return p.emitPDFium(other)
}

// damagedPDF says in one line what is wrong with the file; what its readers complained of is the cause, for logs.
func damagedPDF(what string, cause error) *Error {
	return &Error{Kind: Damaged, Err: cause, Message: "the PDF is damaged: " + what + "; make it anew, or send the document in another format"}
}

// scanned says why a readable PDF has no text.
func scanned(pages int) *Error {
	if pages == 0 {
		return damagedPDF("there are no pages in it", nil)
	}
	return fail(NoText, "the file has no text: %s images, as a scanner makes them; it needs OCR before it can be read",
		plural(pages, "its page is", "its %d pages are"))
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return fmt.Sprintf(many, n)
}

// ownResult is what our text layer made of a file.
type ownResult struct {
	title, language string
	lines           [][]pdftext.Line // by page
	empty           []int            // pages that show pictures and no text, from 1
	pages           int
	letters         int
	stats           pdftext.Stats
	rebuilt         bool
}

func (p *parser) readOwn(data []byte) (*ownResult, error) {
	d, err := pdftext.Open(data)
	if err != nil {
		return nil, fmt.Errorf("opening the PDF: %w", err)
	}
	if d.NumPages() > p.lim.MaxPages {
		return nil, fail(TooLarge, "the file has %d pages, more than the %d that are read", d.NumPages(), p.lim.MaxPages)
	}
	r := &ownResult{title: d.Title(), language: d.Language(), pages: d.NumPages(), rebuilt: d.Rebuilt}
	var size int64
	for i := range d.NumPages() {
		if err := p.ctx.Err(); err != nil {
			return nil, err
		}
		lines, err := d.Page(p.ctx, i) // an error is in Stats.Failed
		_ = err
		letters := 0
		for _, l := range lines {
			for _, c := range l.Cells {
				letters += countLetters(c.Text)
				size += int64(len(c.Text))
			}
		}
		if size > p.lim.MaxText {
			return nil, fail(TooLarge, "the document holds more than %s of text", sizeText(p.lim.MaxText))
		}
		if letters == 0 && d.HasImage(i) {
			r.empty = append(r.empty, i+1)
		}
		r.letters += letters
		r.lines = append(r.lines, lines)
	}
	r.stats = d.Stats
	return r, nil
}

// doubt names the first signal that the text layer did not understand the file, "" for none.
func (r *ownResult) doubt() string {
	s := r.stats
	switch {
	case s.Failed > 0:
		return "failed"
	case s.Undecoded*20 > s.Glyphs:
		return "undecoded"
	case s.Odd*33 > s.Glyphs:
		return "odd"
	case r.letters == 0:
		return "empty"
	case s.Fonts > 0 && r.letters < 20*r.pages && r.letters < 200:
		return "sparse"
	}
	return ""
}

// readable reports whether most glyphs have a character.
func (r *ownResult) readable() bool { return (r.stats.Undecoded+r.stats.Odd)*4 <= r.stats.Glyphs }

// preferred reports whether the text layer got more than PDFium did: form values, for example.
func (r *ownResult) preferred(other *pdfiumResult) bool {
	return r.readable() && r.stats.Undecoded*20 <= r.stats.Glyphs && r.stats.Odd*33 <= r.stats.Glyphs && r.letters > other.letters*11/10
}

func (p *parser) emitOwn(r *ownResult) error {
	if r.letters == 0 {
		return scanned(r.pages)
	}
	p.doc.Title, p.doc.Language, p.doc.Pages = r.title, r.language, r.pages
	if r.rebuilt {
		p.doc.Route += ", rebuilt"
	}
	p.warnPages(r.empty)
	l := newPDFLayout(p, r.lines)
	for i, lines := range r.lines {
		if err := l.page(i+1, lines); err != nil {
			return err
		}
		r.lines[i] = nil
	}
	return nil
}

func (p *parser) emitPDFium(r *pdfiumResult) error {
	if r.letters == 0 {
		return scanned(r.pages)
	}
	p.doc.Title, p.doc.Pages = r.title, r.pages
	p.warnPages(r.empty)
	for i, text := range r.texts {
		for _, para := range paragraphsOfLines(text) {
			if err := p.out.add(domain.Block{Kind: domain.BlockParagraph, Text: para, Page: i + 1}); err != nil {
				return err
			}
		}
	}
	return nil
}

// warnPages records which pages have no text.
func (p *parser) warnPages(pages []int) {
	if len(pages) == 0 {
		return
	}
	var ranges []string
	for i := 0; i < len(pages); {
		j := i
		for j+1 < len(pages) && pages[j+1] == pages[j]+1 {
			j++
		}
		if i == j {
			ranges = append(ranges, strconv.Itoa(pages[i]))
		} else {
			ranges = append(ranges, fmt.Sprintf("%d to %d", pages[i], pages[j]))
		}
		i = j + 1
	}
	if len(ranges) > 20 {
		ranges = append(ranges[:20], "and more")
	}
	word := "pages"
	if len(pages) == 1 {
		word = "page"
	}
	p.out.warn(fmt.Sprintf("%s %s: no text, only images; OCR would be needed to read them", word, strings.Join(ranges, ", ")))
}
