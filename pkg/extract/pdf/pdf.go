// Package pdf reads PDF files. It reads pages with package pdftext, or with PDFium if pdftext cannot decode them. From
// the pages' layout it recovers reading order, headings, tables, headers and footers, forms and links.
package pdf

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
)

// Format describes PDF files.
var Format = format.Format{
	Type: "application/pdf", Aliases: []string{"application/x-pdf"}, Extensions: []string{".pdf"},
	Name: "a PDF", Label: "PDF", Sniff: isPDF, Read: read, Locate: locate, Scan: scanPicture, Scanned: readScanned,
}

// isPDF reports whether the first 1,024 bytes contain a PDF header rather than just text about PDF. PDF viewers accept
// other data before the header.
func isPDF(head []byte, _ string) bool {
	at := bytes.Index(head[:min(len(head), 1024)], []byte("%PDF-"))
	return at == 0 || at > 0 && (!utf8.Valid(head[:at]) || format.CountLetters(string(head[:at])) == 0 || head[at-1] == '\n' || head[at-1] == '\r')
}

// read reads a PDF file page by page, so memory use does not depend on the number of pages. It first samples pages to
// determine properties of the whole document, such as the body text's font size.
func read(p *format.Parser) error {
	data, err := p.Src.Bytes()
	if err != nil {
		return err
	}
	s, err := openPDF(p, data)
	if err != nil {
		return err
	}
	defer s.close()
	survey, err := s.survey()
	if err != nil {
		return err
	}
	p.Doc.Pages = s.pages
	s.describe(p)
	l := newPDFLayout(p, survey)
	l.outline = s.outline()
	for i := range s.pages {
		page, err := s.page(i)
		if err != nil {
			return err
		}
		l.links, l.grids = s.links(i), page.grids
		page.lines = withFields(page)
		if err := l.page(i+1, page.lines); err != nil {
			return err
		}
		s.account(i, page)
	}
	if next := s.scanned.next(p.Src.Scans); p.Src.Scans.Report && len(next) > 0 {
		return &format.Error{Kind: format.Scanned, Pages: next, Message: pageNumbers(next) + ": OCR is needed"}
	}
	return s.finish()
}

// finish records the readers used, warns about unreadable pages, and returns an error if there is no text.
func (s *source) finish() error {
	p := s.p
	if s.letters == 0 {
		return s.noText()
	}
	s.unseen.warn(p.Out)
	s.garbled.warn(p.Out)
	s.scanned.report(p)
	p.Doc.Route = s.route()
	if len(s.scans) > 0 {
		p.Out.Warn(fmt.Sprintf("%s: no text, only images; OCR is needed to read %s: %s", pageNumbers(s.scans), format.Plural(len(s.scans), "it", "them"), p.Src.Scans.Advice()))
	}
	if s.own != nil && s.own.CutShort {
		p.Out.Warn("the end of the file is missing; upload the complete file if text is missing")
	}
	if len(s.broken) > 0 {
		p.Out.Warn(pageNumbers(s.broken) + ": parts are damaged and could not be read")
	}
	if len(s.skippedUnhelpful) > 0 {
		p.Out.Warn(pageNumbers(s.skippedUnhelpful) + ": text may be missing, because some characters are unknown; the fallback reader PDFium was not tried because it could not read them on other pages")
	}
	if len(s.skippedCallLimit) > 0 {
		p.Out.Warn(pageNumbers(s.skippedCallLimit) + ": text may be missing, because the fallback reader PDFium had reached its limit for one file")
	}
	return nil
}

// route describes in one line which readers read the pages.
func (s *source) route() string {
	r := "pdf/own"
	switch {
	case len(s.byPDFium) == s.pages:
		return "pdf/pdfium (" + s.why + ")" + s.scanned.route()
	case len(s.byPDFium) > 0:
		r += fmt.Sprintf(", pdfium for %s (%s)", pageNumbers(s.byPDFium), s.why)
	}
	if s.own.Rebuilt {
		r += ", rebuilt"
	}
	return r + s.scanned.route()
}

// noText returns an error that explains why no page has text.
func (s *source) noText() error {
	advice := s.p.Src.Scans.Advice()
	switch {
	case format.KindOf(s.pdfiumErr) == format.Encrypted:
		return s.pdfiumErr
	case s.pages == 0:
		return damagedPDF("it has no pages", nil)
	case len(s.broken) == s.pages:
		return damagedPDF("none of its pages can be read", s.pdfiumErr)
	case !pdftext.HasContent(s.data):
		return format.Errorf(format.NoText, "the file has no text: %s empty", pagesClause(s.pages))
	case len(s.unseen.hidden) > 0 && len(s.scans) == 0:
		return format.Errorf(format.NoText, "the file has no visible text: all text is in hidden layers; show the layers, save the file and upload it again")
	case len(s.scanned.textless)+len(s.scanned.failed) > 0:
		return s.scanned.noText(s.pages)
	case len(s.garbled.unmapped) > 0:
		return format.Errorf(format.NoText, "the file has no readable text: its fonts do not specify which characters they show; it needs OCR: %s", advice)
	case s.own != nil && len(s.scans) == 0 && len(s.scanned.wanted) > 0:
		return format.Errorf(format.NoText, "the file has no text: %s text drawn as shapes; it needs OCR: %s", haveClause(s.pages), advice)
	case s.own != nil && len(s.scans) == 0:
		return format.Errorf(format.NoText, "the file has no text: %s empty, or show text only as drawings; upload the document in another format", pagesClause(s.pages))
	case s.own == nil || len(s.scans) < s.pages:
		return format.Errorf(format.NoText, "the file has no text: %s images or empty; it needs OCR: %s", pagesClause(s.pages), advice)
	}
	return format.Errorf(format.NoText, "the file has no text: %s scanned; it needs OCR: %s", pagesClause(s.pages), advice)
}

func pagesClause(n int) string {
	if n == 1 {
		return "its page is"
	}
	return fmt.Sprintf("its %d pages are", n)
}

func haveClause(n int) string {
	if n == 1 {
		return "its page has"
	}
	return fmt.Sprintf("its %d pages have", n)
}

// damagedPDF returns the error for a damaged file. Its message is one line for users, in which `what` describes the
// damage. `cause` is the PDF reader's error, for logs.
func damagedPDF(what string, cause error) *format.Error {
	return &format.Error{Kind: format.Damaged, Err: cause, Message: "the PDF is damaged: " + what + "; export it again, or upload the document in another format"}
}

// unreadableError returns the error for a file that neither reader can open.
func unreadableError(own, other error) error {
	switch {
	case format.KindOf(other) == format.Encrypted, format.KindOf(other) == format.TooLarge:
		return other
	case errors.Is(own, pdftext.ErrEncrypted):
		return format.Errorf(format.Encrypted, "the file is password-protected; remove the password and upload the file again")
	}
	return damagedPDF("its structure cannot be read", errors.Join(own, other))
}

// pageNumbers formats ascending page numbers for display: "pages 1 to 3, 7".
func pageNumbers(pages []int) string {
	const most = 20
	var ranges []string
	for i := 0; i < len(pages); {
		j := i
		for j+1 < len(pages) && pages[j+1] == pages[j]+1 {
			j++
		}
		if len(ranges) == most {
			ranges = append(ranges, "and more")
			break
		}
		if i == j {
			ranges = append(ranges, strconv.Itoa(pages[i]))
		} else {
			ranges = append(ranges, fmt.Sprintf("%d to %d", pages[i], pages[j]))
		}
		i = j + 1
	}
	return format.Plural(len(pages), "page ", "pages ") + strings.Join(ranges, ", ")
}
