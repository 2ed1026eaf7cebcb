package pdf

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPDFiumBudget(t *testing.T) {
	t.Parallel()
	known, unknown, empty := pdfiumPage{chars: 100, known: 50}, pdfiumPage{chars: 100, known: 49}, pdfiumPage{}
	helpless := slices.Repeat([]pdfiumPage{unknown}, maxFailures)
	tests := map[string]struct {
		before      []pdfiumPage // results of earlier PDFium calls
		calls       int
		nothingElse bool // pdftext has not read the page
		want        []skipReason
	}{
		"asks for the first page":                            {nil, 0, false, []skipReason{skipNone}},
		"asks where most characters were known":              {slices.Repeat([]pdfiumPage{known}, 10*maxFailures), 0, false, []skipReason{skipNone, skipNone}},
		"asks for pictures, which have no characters":        {slices.Repeat([]pdfiumPage{empty}, 10*maxFailures), 0, false, []skipReason{skipNone, skipNone}},
		"asks until enough pages in a row were not known":    {helpless[1:], 0, false, []skipReason{skipNone, skipNone}},
		"begins anew with a page that was known":             {slices.Concat(helpless[1:], []pdfiumPage{known}, helpless[1:]), 0, false, []skipReason{skipNone, skipNone}},
		"asks for one page in sixteen that is not known":     {helpless, 0, false, append(slices.Repeat([]skipReason{skipUnhelpful}, retryInterval-1), skipNone, skipUnhelpful)},
		"is not misled by a picture between":                 {slices.Concat(helpless, []pdfiumPage{empty}), 0, false, []skipReason{skipUnhelpful}},
		"asks for all again once a page was known":           {slices.Concat(helpless, []pdfiumPage{unknown, known}), 0, false, []skipReason{skipNone, skipNone}},
		"asks where there is no other text":                  {helpless, 0, true, []skipReason{skipNone, skipNone}},
		"asks up to the last call":                           {nil, maxPDFiumCalls - 1, false, []skipReason{skipNone}},
		"asks no more when the calls are spent":              {[]pdfiumPage{known}, maxPDFiumCalls, false, []skipReason{skipCallLimit, skipCallLimit}},
		"asks no more even where there is no text otherwise": {[]pdfiumPage{known}, maxPDFiumCalls, true, []skipReason{skipCallLimit}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b pdfiumBudget
			for _, page := range tt.before {
				b.record(page)
			}
			var got []skipReason
			for range tt.want {
				got = append(got, b.next(tt.calls, !tt.nothingElse))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("of the next pages (-want +got):\n%s", diff)
			}
		})
	}
}
