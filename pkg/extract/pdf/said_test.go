package pdf_test

import (
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

func TestAPDFThatIsCutShortSaysSo(t *testing.T) {
	t.Parallel()
	whole := extracttest.PDFPages("BT /F1 12 Tf 72 700 Td (The gate opens at noon.) Tj ET", "BT /F1 12 Tf 72 700 Td (It closes at dusk.) Tj ET")
	end := strings.Index(string(whole), "xref\n")
	for name, test := range map[string]struct {
		data []byte
		want string // expected in the warnings
	}{
		"a whole file":                 {whole, ""},
		"one whose references are off": {append([]byte(strings.Replace(string(whole[:end]), "\n", "\n\n", 3)), whole[end:]...), ""},
		"one without its end":          {whole[:end], "the end of the file is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := readtest.Parse(t, "a.pdf", test.data)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(doc.Warnings, "\n"); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("the warnings are %q, want %q", got, test.want)
			}
		})
	}
}
