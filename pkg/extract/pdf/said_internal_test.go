package pdf

import "testing"

func TestPlaceholdersOfPDFsAreNotTitles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"(anonymous)": "", "Untitled": "", "unspecified": "", "": "",
		"Microsoft Word - Plan of the harbour.docx": "Plan of the harbour.docx",
		"The untitled diaries":                      "The untitled diaries",
	} {
		if got := cleanProperty(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
