package pdf_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/extract/extracttest"
)

const bodyOfPage = "A last paragraph says what size most of the text has, and is of some length:"

func TestTablesOfContentsAreReadLineByLine(t *testing.T) {
	t.Parallel()
	const x, size = 72, 10.0
	entry := func(y float64, title, dots, page string) string {
		s := extracttest.At("F1", size, x, y, title)
		if dots != "" {
			s += extracttest.At("F1", size, 250, y, dots)
		}
		if page != "" {
			s += extracttest.At("F1", size, 480, y, page)
		}
		return s
	}
	body := extracttest.PDFLines("F1", size, x, 300, bodyOfPage, "it goes on for a second line and on to a third.", "And that is all.")
	const bodyText = "p: " + bodyOfPage + " it goes on for a second line and on to a third. And that is all."
	tests := map[string]struct {
		content string
		want    []string
	}{
		"with rows of dots": {
			entry(700, "4. Method", strings.Repeat(".", 60), "7") + entry(688, "4.1 Samples", strings.Repeat(".", 60), "8") +
				entry(676, "5. Results and what they say", strings.Repeat(".", 60), "12") + entry(664, "Annex A", strings.Repeat(". ", 30), "xiv"),
			[]string{"li1: 4. Method … 7", "li1: 4.1 Samples … 8", "li1: 5. Results and what they say … 12", "li1: Annex A … xiv"}},
		"with the number far before the title": {
			extracttest.At("F1", size, x, 700, "5.") + extracttest.At("F1", size, x+30, 700, "Results") + entry(700, "", strings.Repeat(".", 60), "12") +
				extracttest.At("F1", size, x, 688, "6.") + extracttest.At("F1", size, x+30, 688, "Discussion") + entry(688, "", strings.Repeat(".", 60), "13"),
			[]string{"li1: 5. Results … 12", "li1: 6. Discussion … 13"}},
		"with dots that are shown one by one": {
			entry(700, "5. Results", "", "") + extracttest.At("F1", size, 250, 700, ".") + extracttest.At("F1", size, 270, 700, ".") + extracttest.At("F1", size, 290, 700, ".") +
				extracttest.At("F1", size, 310, 700, ".") + entry(700, "", "", "12") + entry(680, "6. Discussion", ".....", "13"),
			[]string{"li1: 5. Results … 12", "li1: 6. Discussion … 13"}},
		"with a title of two lines": {
			extracttest.At("F1", size, x, 700, "5. Results of the work that was done by the group in the") + entry(688, "last two years", strings.Repeat(".", 60), "12") +
				entry(676, "6. Discussion", strings.Repeat(".", 60), "13"),
			[]string{"li1: 5. Results of the work that was done by the group in the last two years … 12", "li1: 6. Discussion … 13"}},
		"without pages": {
			extracttest.At("F1", size, x, 700, "5. Results") + extracttest.At("F1", size, x, 688, "5.1 First results") + extracttest.At("F1", size, x, 676, "5.2 Other results") + extracttest.At("F1", size, x, 664, "6. Discussion"),
			[]string{"li1: 5. Results", "p: 5.1 First results", "p: 5.2 Other results", "li1: 6. Discussion"}},
		"dots in a text are kept": {
			extracttest.PDFLines("F1", size, x, 700, "He waited ... and waited .... for 5 hours until the clock of the", "tower struck the hour."),
			[]string{"p: He waited ... and waited .... for 5 hours until the clock of the tower struck the hour."}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(append(tt.want, bodyText), blockLines(t, extracttest.PDFPages(tt.content+body))); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDropCapsBelongToTheirWord(t *testing.T) {
	t.Parallel()
	const size = 10.0
	dropped := func(initial string, letterFirst bool, texts ...string) string {
		letter := extracttest.At("F1", 4.2*size, 72, 700-2*1.2*size, initial)
		var text strings.Builder
		for i, s := range texts {
			left := 106.0
			if i > 2 {
				left = 72
			}
			text.WriteString(extracttest.At("F1", size, left, 700-float64(i)*1.2*size, s))
		}
		if letterFirst {
			return letter + text.String()
		}
		return text.String() + letter
	}
	more := []string{"There is a king in it, who lives in a castle by the sea and", "who is not to be disturbed on any day of the week, and it", "was so for a long time, until the new king had come to the castle."}
	rest := " " + strings.Join(more, " ")
	body := extracttest.PDFLines("F1", size, 72, 300, bodyOfPage, "it goes on for a second line and on to a third.", "And that is all.")
	tests := map[string]struct {
		content, want string
	}{
		"before the text":                {dropped("O", true, append([]string{"nce upon a time this story was told."}, more...)...), "Once upon a time this story was told." + rest},
		"after the text":                 {dropped("O", false, append([]string{"nce upon a time this story was told."}, more...)...), "Once upon a time this story was told." + rest},
		"with a quotation mark":          {dropped("\"I", true, append([]string{"n the beginning this story was told."}, more...)...), "\"In the beginning this story was told." + rest},
		"a letter that is a word":        {dropped("A", true, append([]string{"new story was told to the children."}, more...)...), "A new story was told to the children." + rest},
		"a letter that may be a word":    {dropped("A", true, append([]string{"t the time this story was told."}, more...)...), "At the time this story was told." + rest},
		"followed by a word in capitals": {dropped("T", true, append([]string{"HE TIME of this story was long ago."}, more...)...), "THE TIME of this story was long ago." + rest},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := blockLines(t, extracttest.PDFPages(tt.content+body))
			if len(got) == 0 || got[0] != "p: "+tt.want {
				t.Errorf("blocks = %q, want the first to be %q", got, tt.want)
			}
		})
	}
	t.Run("a large letter alone is no initial", func(t *testing.T) {
		t.Parallel()
		got := blockLines(t, extracttest.PDFPages(extracttest.At("F1", 40, 72, 500, "B")+extracttest.At("F1", size, 72, 700, "above the letter")+body))
		for _, line := range got {
			if strings.Contains(line, "Babove") {
				t.Errorf("blocks = %q", got)
			}
		}
	})
}
