package pdf

// Limits on the use of PDFium. They depend on the number and results of earlier calls, never on time, so a file yields
// the same text on every machine.
const (
	// maxPDFiumCalls is the maximum number of sandbox calls per file. It is enough for the text of about 1,500 ordinary
	// pages, which takes half a minute. The page that reaches the limit is still read in full.
	maxPDFiumCalls = 2_000_000
	// maxFailures is the number of consecutive pages with mostly unknown characters after which PDFium is used less often.
	maxFailures = 32
	// retryInterval limits the use of PDFium after maxFailures pages. From then on, only every retryInterval-th page
	// that pdftext cannot decode is passed to PDFium, in case PDFium can read a later page.
	retryInterval = 16
)

// pdfiumBudget decides which of the pages that pdftext could not decode are passed to PDFium. Its zero value is ready
// to use.
type pdfiumBudget struct {
	failures  int // consecutive pages on which PDFium did not know most characters
	sinceLast int // pages since the last one passed to PDFium; counted only once `failures` is maxFailures
}

// skipReason is the reason why a page was not passed to PDFium.
type skipReason int

const (
	skipNone      skipReason = iota
	skipUnhelpful            // PDFium did not know the previous pages' characters
	skipCallLimit            // the limit on calls to PDFium has been reached
)

// next decides whether PDFium should read the next page that pdftext could not decode. `calls` is the number of sandbox
// calls so far. If pdftext has no result for the page (`alternative` is false), PDFium reads it as long as calls are
// left, even if PDFium did not help with earlier pages.
func (b *pdfiumBudget) next(calls int, alternative bool) skipReason {
	if calls >= maxPDFiumCalls {
		return skipCallLimit
	}
	if b.exhausted() && alternative {
		if b.sinceLast++; b.sinceLast < retryInterval {
			return skipUnhelpful
		}
		b.sinceLast = 0
	}
	return skipNone
}

// exhausted reports whether PDFium did not help with the last maxFailures pages.
func (b *pdfiumBudget) exhausted() bool { return b.failures >= maxFailures }

// record counts the consecutive pages on which PDFium did not help. It ignores pages without characters.
func (b *pdfiumBudget) record(text pdfiumPage) {
	switch {
	case text.chars == 0:
	case text.known*2 < text.chars:
		b.failures++
	default:
		b.failures, b.sinceLast = 0, 0
	}
}
