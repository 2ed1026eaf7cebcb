package chunk

import (
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
)

func TestSectionLabels(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ARTICLE IV":                               "0 ARTICLE IV",
		"ARTICLE 8\nTERMINATION":                   "0 ARTICLE 8 TERMINATION",
		"Note 3":                                   "0 Note 3",
		"Item 8. Financial Statements":             "0 Item 8. Financial Statements",
		"Exhibit B – Fees":                         "0 Exhibit B – Fees",
		"STATEMENT OF WORK NO. 12":                 "0 STATEMENT OF WORK NO. 12",
		"Anlage 2 Vergütung":                       "0 Anlage 2 Vergütung",
		"§ 8 Kündigung":                            "0 § 8 Kündigung",
		"第八条 解除":                                   "0 第八条 解除",
		"8.2 Termination for Cause. Either may …":  "2 8.2 Termination for Cause",
		"8.2. Termination for Cause: Either may …": "2 8.2 Termination for Cause",
		"12.3.4 Notices":                           "3 12.3.4 Notices",
		"3. Fees":                                  "1 3 Fees",
		"8.2 Either party may terminate this Agreement if the other party fails.": "",
		"8.2 the parties agree.":                          "",
		"2019 was a good year. It rained.":                "",
		"3.5 million people live there.":                  "",
		"Article 8 applies to both parties in all cases.": "", // a sentence
		"Section 8 of the Act, as amended:":               "",
		"The article is short":                            "",
		"USA":                                             "",
		"A4":                                              "",
		"":                                                "",
		"ARTICLE 8 " + strings.Repeat("VERY LONG ", 20): "",
	} {
		label, level := sectionLabel(text)
		got := ""
		if level >= 0 {
			got = string(rune('0'+level)) + " " + label
		}
		if got != want {
			t.Errorf("%q begins section %q, want %q", text, got, want)
		}
	}
}

func TestSectionsWithoutHeadingsAreContext(t *testing.T) {
	t.Parallel()
	doc := &domain.Document{Title: "Agreement", Blocks: []domain.Block{
		para("ARTICLE 8"), para("TERMINATION"), para(clause("8.1 Notice. Thirty days")), para(clause("8.2 Cure. Ten days")), para(clause("This is the second paragraph of 8.2")),
		para("STATEMENT OF WORK NO. 2"), para(clause("Acceptance")), para(clause("Fees")),
		heading(1, "Signatures"), para(clause("Signed")),
	}}
	chunks := mustChunk(t, doc)
	checkInvariants(t, Options{}, doc, chunks)
	for _, want := range []struct{ text, context string }{
		{"Thirty days", "Agreement"},
		{"Ten days", "Agreement > ARTICLE 8 TERMINATION"},
		{"the second paragraph of 8.2", "Agreement > ARTICLE 8 TERMINATION > 8.2 Cure"},
		{"Acceptance", "Agreement"},
		{"Fees", "Agreement > STATEMENT OF WORK NO. 2"},
		{"Signed", "Agreement > Signatures"},
	} {
		found := false
		for _, c := range chunks {
			if !strings.Contains(c.Text, want.text) {
				continue
			}
			found = true
			if c.Context != want.context {
				t.Errorf("the context of %q is %q, want %q", want.text, c.Context, want.context)
			}
			if c.Heading != "" && c.Heading != "Signatures" {
				t.Errorf("the heading of %q is %q", want.text, c.Heading)
			}
		}
		if !found {
			t.Errorf("no chunk has %q", want.text)
		}
	}
}

func TestASectionLabelDoesNotApplyToAllThatFollows(t *testing.T) {
	t.Parallel()
	var s sections
	s.enter(para("ARTICLE 1"))
	s.enter(para("ARTICLE 2"))
	if s.path != "ARTICLE 2" {
		t.Errorf("after two labels the path is %q", s.path)
	}
	for range 20 {
		s.enter(para(strings.Repeat("Text. ", 100)))
	}
	if s.path != "" {
		t.Errorf("after 12,000 bytes the path is %q", s.path)
	}
	for range 1000 {
		s.enter(para("CAPITAL LETTERS"))
	}
	if len(s.path) > maxSectionBytes || len(s.labels[0]) > maxSectionBytes {
		t.Errorf("a path has %d bytes", len(s.path))
	}
}

func TestAChunkIsFoundByTheTermsThatItDefines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`“Net Revenue” means the amount invoiced.`:                                                  "Net Revenue",
		`"Net Revenue" shall mean the amount, and "Fees" has the meaning in section 3.`:             "Net Revenue, Fees",
		`„Arbeitstag“ bedeutet jeden Tag, an dem Banken öffnen.`:                                    "Arbeitstag",
		`« Produit » désigne l'appareil.`:                                                           "Produit",
		`“A1” means a. “A2” means b. “A3” means c. “A4” means d. “A5” means e.`:                     "A1, A2, A3, A4",
		`He said “nothing” and left.`:                                                               "",
		`Net Revenue means the amount invoiced.`:                                                    "",
		`“` + strings.Repeat("long ", 20) + `” means nothing.`:                                      "",
		`“Change of Control” (or “CoC”) means a sale of most shares; it “means” nothing otherwise.`: "Change of Control",
	} {
		chunks := mustChunk(t, &domain.Document{Title: "T", Blocks: []domain.Block{para(text)}})
		if want != "" {
			want = domain.ContextSeparator + want
		}
		if got := strings.TrimPrefix(chunks[0].Context, "T"); got != want {
			t.Errorf("%s defines %q, want %q", text, got, want)
		}
	}
}
