package extract

import (
	"strings"
	"testing"
)

func TestPlaceholdersOfPDFsAreNotTitles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"(anonymous)": "", "Untitled": "", "unspecified": "", "": "",
		"Microsoft Word - Plan of the harbour.docx": "Plan of the harbour.docx",
		"The untitled diaries":                      "The untitled diaries",
	} {
		if got := said(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestAPDFThatIsCutShortSaysSo(t *testing.T) {
	t.Parallel()
	whole := pdfPages("BT /F1 12 Tf 72 700 Td (The gate opens at noon.) Tj ET", "BT /F1 12 Tf 72 700 Td (It closes at dusk.) Tj ET")
	end := strings.Index(string(whole), "xref\n")
	for name, test := range map[string]struct {
		data []byte
		want string // of the warnings
	}{
		"a whole file":                 {whole, ""},
		"one whose references are off": {append([]byte(strings.Replace(string(whole[:end]), "\n", "\n\n", 3)), whole[end:]...), ""},
		"one without its end":          {whole[:end], "ends before its end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := parseBytes(t, "a.pdf", test.data)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(doc.Warnings, "\n"); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("the warnings are %q, want %q", got, test.want)
			}
		})
	}
}
