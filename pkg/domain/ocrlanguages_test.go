package domain

import (
	"strings"
	"testing"
)

func TestLanguagesOfScansAreChecked(t *testing.T) {
	t.Parallel()
	for languages, want := range map[OCRLanguages]string{
		"": "", "deu": "", "chi_sim,eng,aze_cyrl": "", "de": "ocrLanguages[0]", "deu,../x": "ocrLanguages[1]", "deu,": "ocrLanguages[1]",
		OCRLanguages(strings.Repeat("deu,", MaxOCRLanguages) + "eng"): "ocrLanguages",
	} {
		got := ""
		if faults := languages.Check(); len(faults) > 0 {
			got = faults[0].Field
		}
		if got != want {
			t.Errorf("%q: the fault is in %q, not in %q", languages, got, want)
		}
	}
	if names := OCRLanguages("deu,eng").Names(); len(names) != 2 || names[1] != "eng" || OCRLanguages("").Names() != nil {
		t.Errorf("the names are %v", names)
	}
}
