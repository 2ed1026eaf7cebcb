package chunk

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/domain"
)

func para(text string) domain.Block {
	return domain.Block{Kind: domain.BlockParagraph, Text: text}
}

func heading(level int, text string) domain.Block {
	return domain.Block{Kind: domain.BlockHeading, Level: level, Text: text}
}

func row(text string) domain.Block {
	return domain.Block{Kind: domain.BlockTableRow, Text: text}
}

// text returns a document's text; Chunk.Offset refers to this text.
func text(doc *domain.Document) string {
	parts := make([]string, len(doc.Blocks))
	for i, b := range doc.Blocks {
		parts[i] = b.Text
	}
	return strings.Join(parts, domain.BlockSeparator)
}

func mustChunk(t *testing.T, doc *domain.Document) []domain.Chunk {
	t.Helper()
	chunks, err := New(Options{}).Chunks(doc)
	if err != nil {
		t.Fatal(err)
	}
	return chunks
}

// prose returns n different sentences of eight words each.
func prose(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "Sentence %d says that the gate opens slowly. ", i)
	}
	return strings.TrimSpace(b.String())
}

func TestChunks(t *testing.T) {
	t.Parallel()
	long := prose(60)
	tests := map[string]struct {
		doc   domain.Document
		check func(t *testing.T, chunks []domain.Chunk)
	}{
		"a document without blocks makes no chunk": {
			check: func(t *testing.T, chunks []domain.Chunk) {
				if len(chunks) != 0 {
					t.Fatalf("got %d chunks", len(chunks))
				}
			},
		},
		"a short document is one chunk with its title as context": {
			doc: domain.Document{Title: "Sluices", Blocks: []domain.Block{para("A sluice lets water in."), para("It closes too.")}},
			check: func(t *testing.T, chunks []domain.Chunk) {
				want := []domain.Chunk{{Text: "A sluice lets water in.\n\nIt closes too.", Context: "Sluices", Tokens: Tokens("A sluice lets water in. It closes too."), Runs: domain.TextRuns{{Length: 39}}}}
				if diff := cmp.Diff(want, chunks); diff != "" {
					t.Fatal(diff)
				}
			},
		},
		"long prose is cut between sentences and filled to the target": {
			doc: domain.Document{Blocks: []domain.Block{para(long)}},
			check: func(t *testing.T, chunks []domain.Chunk) {
				for i, c := range chunks {
					if !strings.HasPrefix(c.Text, "Sentence ") || !strings.HasSuffix(c.Text, "slowly.") {
						t.Errorf("chunk %d is cut inside a sentence: %q", i, c.Text)
					}
					if i < len(chunks)-1 && (c.Tokens < 100 || c.Tokens > 140) {
						t.Errorf("chunk %d has %d tokens", i, c.Tokens)
					}
				}
			},
		},
		"a heading goes with what follows it and names the path": {
			doc: domain.Document{Title: "Manual", Blocks: []domain.Block{
				heading(1, "Manual"), heading(2, "Opening"), para(prose(8)), heading(2, "Closing"), heading(3, "By hand"), para("Turn the wheel."),
			}},
			check: func(t *testing.T, chunks []domain.Chunk) {
				if len(chunks) != 2 {
					t.Fatalf("got %d chunks, want 2: %+v", len(chunks), chunks)
				}
				if chunks[0].Heading != "Manual > Opening" || chunks[0].Context != "Manual > Opening" {
					t.Errorf("first: heading %q, context %q", chunks[0].Heading, chunks[0].Context)
				}
				if chunks[1].Heading != "Manual > Closing > By hand" || !strings.HasPrefix(chunks[1].Text, "Closing\n\nBy hand\n\nTurn") {
					t.Errorf("second: heading %q, text %q", chunks[1].Heading, chunks[1].Text)
				}
			},
		},
		"tiny sections share a chunk": {
			doc: domain.Document{Blocks: []domain.Block{heading(1, "Doc"), heading(2, "A"), para("One."), heading(2, "B"), para("Two.")}},
			check: func(t *testing.T, chunks []domain.Chunk) {
				if len(chunks) != 1 || chunks[0].Heading != "Doc > A" {
					t.Fatalf("got %+v", chunks)
				}
			},
		},
		"no chunk reaches over one of the highest headings": {
			doc: domain.Document{Blocks: []domain.Block{para("Preface."), heading(2, "A"), para("One."), heading(2, "B"), para("Two."), heading(3, "C"), para("Three.")}},
			check: func(t *testing.T, chunks []domain.Chunk) {
				if diff := cmp.Diff([]string{"Preface.", "A\n\nOne.", "B\n\nTwo.\n\nC\n\nThree."}, texts(chunks)); diff != "" {
					t.Fatal(diff)
				}
			},
		},
		"the last sentence is repeated where a long paragraph goes on": {
			doc: domain.Document{Blocks: []domain.Block{para(prose(30))}},
			check: func(t *testing.T, chunks []domain.Chunk) {
				sentences := strings.SplitAfter(strings.TrimSpace(chunks[0].Text), ". ")
				if last := sentences[len(sentences)-1]; len(chunks) < 2 || !strings.HasPrefix(chunks[1].Text, last+" ") {
					t.Fatalf("the second chunk does not begin with %q: %q", last, texts(chunks))
				}
			},
		},
		"nothing is repeated between paragraphs": {
			doc: domain.Document{Blocks: []domain.Block{para(prose(10)), para(prose(10)), para(prose(10))}},
			check: func(t *testing.T, chunks []domain.Chunk) {
				end := 0
				for _, c := range chunks {
					if c.Offset < end {
						t.Fatalf("got %q", texts(chunks))
					}
					end = c.Offset + len(c.Text)
				}
			},
		},
		"a long sentence is not repeated": {
			doc: domain.Document{Blocks: []domain.Block{para(strings.Repeat(strings.Repeat("sluice ", 50)+"gate. ", 8))}},
			check: func(t *testing.T, chunks []domain.Chunk) {
				if len(chunks) != 4 {
					t.Fatalf("got %q", texts(chunks))
				}
			},
		},
		"a chunk stands where most of it does": {
			doc: domain.Document{Blocks: []domain.Block{heading(1, "Doc"), heading(2, "A"),
				{Kind: domain.BlockParagraph, Text: "One.", Page: 1}, {Kind: domain.BlockHeading, Level: 2, Text: "B", Page: 2},
				{Kind: domain.BlockParagraph, Text: "Two and three and four.", Page: 2}}},
			check: func(t *testing.T, chunks []domain.Chunk) {
				if len(chunks) != 1 || chunks[0].Page != 2 || chunks[0].Heading != "Doc > B" || chunks[0].Context != "Doc > B" {
					t.Fatalf("got %+v", chunks)
				}
			},
		},
		"slides do not share a chunk": {
			doc: domain.Document{MIMEType: typePptx, Blocks: []domain.Block{
				{Kind: domain.BlockParagraph, Text: "One.", Page: 1}, {Kind: domain.BlockParagraph, Text: "Two.", Page: 2}, {Kind: domain.BlockParagraph, Text: "More of two.", Page: 2}}},
			check: func(t *testing.T, chunks []domain.Chunk) {
				if diff := cmp.Diff([]string{"One.", "Two.\n\nMore of two."}, texts(chunks)); diff != "" || chunks[1].Page != 2 {
					t.Fatal(diff, chunks)
				}
			},
		},
		"a block apart is not under the heading before it": {
			doc: domain.Document{MIMEType: typePptx, Title: "Deck", Blocks: []domain.Block{
				{Kind: domain.BlockHeading, Level: 1, Text: "One", Page: 1}, {Kind: domain.BlockParagraph, Text: "Two.", Page: 2, Apart: true}, {Kind: domain.BlockParagraph, Text: "More.", Page: 2}}},
			check: func(t *testing.T, chunks []domain.Chunk) {
				if diff := cmp.Diff([]string{"One", "Two.\n\nMore."}, texts(chunks)); diff != "" || chunks[1].Heading != "" || chunks[1].Context != "Deck" {
					t.Fatal(diff, chunks)
				}
			},
		},
		"a chunk of rows says which": {
			doc: domain.Document{Blocks: []domain.Block{
				{Kind: domain.BlockTableRow, Sheet: "Prices", Row: 4, Text: "Name\tPrice"}, {Kind: domain.BlockTableRow, Sheet: "Prices", Row: 5, Text: "Gate\t7"},
				{Kind: domain.BlockTableRow, Sheet: "Sizes", Row: 1, Text: "Name\tSize"}}},
			check: func(t *testing.T, chunks []domain.Chunk) {
				if len(chunks) != 2 || chunks[0].Heading != "Prices > rows 4 to 5" || chunks[1].Heading != "Sizes > row 1" || chunks[1].Context != "Sizes" {
					t.Fatalf("got %+v", chunks)
				}
			},
		},
		"rows stand on lines and the header is repeated over a later chunk": {
			doc: domain.Document{Blocks: tableOf(120)},
			check: func(t *testing.T, chunks []domain.Chunk) {
				if len(chunks) < 3 {
					t.Fatalf("got %d chunks", len(chunks))
				}
				for i, c := range chunks {
					lines := strings.Split(c.Text, "\n")
					if lines[0] != "Name\tCity\tYear built" {
						t.Errorf("chunk %d begins %q", i, lines[0])
					}
					for _, l := range lines {
						if strings.Count(l, "\t") != 2 {
							t.Errorf("chunk %d: row cut: %q", i, l)
						}
					}
				}
			},
		},
		"rows that name their columns get no header": {
			doc: domain.Document{Blocks: []domain.Block{row("name: Rhein; length: 1230"), row("name: Elbe; length: 1094")}},
			check: func(t *testing.T, chunks []domain.Chunk) {
				if len(chunks) != 1 || chunks[0].Text != "name: Rhein; length: 1230\nname: Elbe; length: 1094" {
					t.Fatalf("got %+v", chunks)
				}
			},
		},
		"code is cut at lines and keeps its indentation": {
			doc: domain.Document{Blocks: []domain.Block{{Kind: domain.BlockCode, Text: strings.Repeat("    if open(gate) { close(gate) }\n", 40)}}},
			check: func(t *testing.T, chunks []domain.Chunk) {
				for i, c := range chunks {
					for _, l := range strings.Split(c.Text, "\n") {
						if l != "    if open(gate) { close(gate) }" {
							t.Errorf("chunk %d has line %q", i, l)
						}
					}
				}
			},
		},
		"a chunk carries the page of its first block": {
			doc: domain.Document{Blocks: []domain.Block{
				{Kind: domain.BlockParagraph, Text: prose(9), Page: 3}, {Kind: domain.BlockParagraph, Text: prose(9), Page: 4},
			}},
			check: func(t *testing.T, chunks []domain.Chunk) {
				if len(chunks) != 2 || chunks[0].Page != 3 || chunks[1].Page != 4 {
					t.Fatalf("got %+v", chunks)
				}
			},
		},
		"sheets never share a chunk and name the path": {
			doc: domain.Document{Title: "Book", Blocks: []domain.Block{
				{Kind: domain.BlockTableRow, Text: "a\tb", Sheet: "One"}, {Kind: domain.BlockTableRow, Text: "c\td", Sheet: "Two"},
			}},
			check: func(t *testing.T, chunks []domain.Chunk) {
				if len(chunks) != 2 || chunks[0].Context != "Book > One" || chunks[1].Heading != "Two" {
					t.Fatalf("got %+v", chunks)
				}
			},
		},
		"Chinese is counted by character and cut at its sentences": {
			doc: domain.Document{Blocks: []domain.Block{para(strings.Repeat("水闸控制河水的流量。", 40))}},
			check: func(t *testing.T, chunks []domain.Chunk) {
				if len(chunks) != 4 {
					t.Fatalf("got %d chunks", len(chunks))
				}
				for _, c := range chunks {
					if !strings.HasSuffix(c.Text, "。") {
						t.Errorf("cut inside a sentence: %q", c.Text)
					}
				}
			},
		},
		"a wrapped line does not end a sentence": {
			doc: domain.Document{Blocks: []domain.Block{para(strings.Repeat("The gate\nopens slowly in\nthe morning. ", 40))}},
			check: func(t *testing.T, chunks []domain.Chunk) {
				for _, c := range chunks {
					if !strings.HasPrefix(c.Text, "The gate") || !strings.HasSuffix(c.Text, "morning.") {
						t.Errorf("cut inside a sentence: %q", c.Text)
					}
				}
			},
		},
		"a sentence without end is cut at words": {
			doc: domain.Document{Blocks: []domain.Block{para(strings.Repeat("sluice gate ", 500))}},
			check: func(t *testing.T, chunks []domain.Chunk) {
				for i, c := range chunks {
					for _, w := range strings.Fields(c.Text) {
						if w != "sluice" && w != "gate" {
							t.Errorf("chunk %d holds part of a word: %q", i, w)
						}
					}
				}
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chunks := mustChunk(t, &test.doc)
			checkInvariants(t, Options{}, &test.doc, chunks)
			test.check(t, chunks)
		})
	}
}

func texts(chunks []domain.Chunk) []string {
	out := make([]string, len(chunks))
	for i, c := range chunks {
		out[i] = c.Text
	}
	return out
}

func tableOf(rows int) []domain.Block {
	blocks := []domain.Block{row("Name\tCity\tYear built")}
	for i := range rows {
		blocks = append(blocks, row(fmt.Sprintf("Gate %d\tKöln\t19%02d", i, i)))
	}
	return blocks
}

func TestChunksRefusesADocumentOfTooManyChunks(t *testing.T) {
	t.Parallel()
	_, err := New(Options{MaxChunks: 2}).Chunks(&domain.Document{Blocks: []domain.Block{para(prose(100))}})
	if domain.CodeOf(err) != domain.CodeTooLarge || !strings.Contains(err.Error(), "2 chunks") {
		t.Fatalf("got %v", err)
	}
}

func TestChunksTakesSentencesThatAreTrimmed(t *testing.T) {
	t.Parallel()
	c := New(Options{TargetTokens: 6, MaxTokens: 8, Sentences: func(string) []analysis.Span {
		return []analysis.Span{{Start: 2, End: 16}, {Start: 19, End: 33}}
	}})
	chunks, err := c.Chunks(&domain.Document{Blocks: []domain.Block{para("  One two three.   Four five six. ")}})
	if err != nil {
		t.Fatal(err)
	}
	want := []domain.Chunk{
		{Text: "One two three.", Offset: 2, Tokens: 4, Runs: domain.TextRuns{{Document: 2, Length: 14}}},
		{Ordinal: 1, Text: "Four five six.", Offset: 19, Tokens: 4, Runs: domain.TextRuns{{Document: 19, Length: 14}}},
	}
	if diff := cmp.Diff(want, chunks); diff != "" {
		t.Fatal(diff)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want int
	}{
		"nothing":                          {"", 0},
		"a short word":                     {"gate", 1},
		"a long word takes several":        {"internationalization", 4},
		"punctuation counts":               {"Hello, world!", 4},
		"white space is free":              {" \n\t a \u3000 b ", 2},
		"Han by character":                 {"水闸控制", 4},
		"Hangul by syllable":               {"수문", 2},
		"kana by character":                {"すいもん", 4},
		"accents belong to their letter":   {"été", 1},
		"an emoji family counts its faces": {"👨‍👩‍👧", 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Tokens(test.text); got != test.want {
				t.Fatalf("Tokens(%q) = %d, want %d", test.text, got, test.want)
			}
		})
	}
}

// checkInvariants checks what must hold for every document: the chunks contain its text in order, each chunk is at its
// Offset, no chunk exceeds the limits or starts inside a grapheme, and splitting again gives the same chunks.
func checkInvariants(t *testing.T, opts Options, doc *domain.Document, chunks []domain.Chunk) {
	t.Helper()
	again, err := New(opts).Chunks(doc)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(chunks, again); diff != "" {
		t.Fatalf("a second run differs: %s", diff)
	}
	opts = New(opts).opts
	full := text(doc)
	starts := graphemeStarts(full)
	end := 0 // end of the text covered so far
	for i, c := range chunks {
		if c.Ordinal != i {
			t.Fatalf("chunk %d has ordinal %d", i, c.Ordinal)
		}
		if len(c.Text) > domain.MaxChunkBytes || !utf8.ValidString(c.Text) || c.Text == "" {
			t.Fatalf("chunk %d: %d bytes, valid %t", i, len(c.Text), utf8.ValidString(c.Text))
		}
		switch {
		case c.Offset >= end && strings.TrimSpace(full[end:c.Offset]) != "":
			t.Fatalf("chunk %d begins at %d, the one before ended at %d: text is lost", i, c.Offset, end)
		case c.Offset < end && Tokens(full[c.Offset:end]) > opts.TargetTokens/overlapShare:
			t.Fatalf("chunk %d begins at %d, the one before ended at %d: much is repeated", i, c.Offset, end)
		case c.Offset < end && covered(t, full, c) <= end:
			t.Fatalf("chunk %d holds nothing new", i)
		}
		if !starts[c.Offset] {
			t.Fatalf("chunk %d begins inside a grapheme at %d", i, c.Offset)
		}
		if c.Tokens > opts.MaxTokens && graphemeCount(c.Text) > 1 && !oneOversizedWord(c.Text, opts.MaxTokens) {
			t.Fatalf("chunk %d has %d tokens", i, c.Tokens)
		}
		checkRuns(t, full, c)
		end = covered(t, full, c)
	}
	if strings.TrimSpace(full[end:]) != "" {
		t.Fatalf("the text from %d on is in no chunk", end)
	}
}

// checkRuns checks a chunk's runs before and after encoding. They must cover the whole text and have the correct
// positions in the document. Text that is contiguous in both the chunk and the document must be a single run.
func checkRuns(t *testing.T, full string, c domain.Chunk) {
	t.Helper()
	encoded := c.Runs.Encode(c.Offset)
	if encoded == "" {
		t.Fatalf("chunk %d has no runs", c.Ordinal)
	}
	runs := domain.DecodeTextRuns(encoded, c.Offset, len(c.Text))
	if diff := cmp.Diff(c.Runs, runs); diff != "" {
		t.Fatalf("chunk %d: the stored runs differ: %s", c.Ordinal, diff)
	}
	at := 0
	for _, r := range runs {
		if r.Text != at || r.Document+r.Length > len(full) || full[r.Document:r.Document+r.Length] != c.Text[r.Text:r.Text+r.Length] {
			t.Fatalf("chunk %d: the run %+v is not in the document: %q", c.Ordinal, r, c.Text)
		}
		at += r.Length
	}
	if at != len(c.Text) {
		t.Fatalf("chunk %d: the runs end at %d of %d", c.Ordinal, at, len(c.Text))
	}
	for _, l := range runs.Locate(c.Text, domain.TextRange{End: len(c.Text)}) {
		if full[l.Document.Start:l.Document.End] != l.Text {
			t.Fatalf("chunk %d: at %v, the document has %q, want %q", c.Ordinal, l.Document, full[l.Document.Start:l.Document.End], l.Text)
		}
	}
}

// covered returns where a chunk's text ends in the document, ignoring a repeated table header and differences in white
// space between blocks.
func covered(t *testing.T, full string, c domain.Chunk) int {
	t.Helper()
	for _, candidate := range []string{c.Text, afterFirstLine(c.Text)} {
		if candidate == "" {
			continue
		}
		if end, ok := match(full, c.Offset, candidate); ok {
			return end
		}
	}
	t.Fatalf("chunk %d is not what the document has at %d:\n%q", c.Ordinal, c.Offset, c.Text)
	return 0
}

func afterFirstLine(s string) string {
	_, rest, _ := strings.Cut(s, "\n")
	return rest
}

func match(full string, at int, want string) (int, bool) {
	for _, r := range want {
		if unicode.IsSpace(r) {
			continue
		}
		for {
			got, n := utf8.DecodeRuneInString(full[at:])
			if n == 0 {
				return 0, false
			}
			at += n
			if !unicode.IsSpace(got) {
				if got != r {
					return 0, false
				}
				break
			}
		}
	}
	return at, true
}

func graphemeStarts(s string) map[int]bool {
	starts := map[int]bool{0: true}
	for g := graphemes.FromString(s); g.Next(); {
		starts[g.Start()] = true
		if g.End()-g.Start() > maxPieceBytes { // only such a grapheme is split
			for i := g.Start(); i < g.End(); i++ {
				starts[i] = true
			}
		}
	}
	return starts
}

func graphemeCount(s string) int {
	n := 0
	for g := graphemes.FromString(s); g.Next(); {
		n++
	}
	return n
}

// oneOversizedWord reports whether s has a grapheme that exceeds the token limit by itself.
func oneOversizedWord(s string, limit int) bool {
	for g := graphemes.FromString(s); g.Next(); {
		if Tokens(g.Value()) > limit {
			return true
		}
	}
	return false
}

func TestSentencesKeepNumbersWithTheirEntries(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"5.\tDuties of the tenant\t12":       {"5.\tDuties of the tenant\t12"},
		"2.1. Rent and deposit. It is due.":  {"2.1. Rent and deposit.", "It is due."},
		"iv. Heating":                        {"iv. Heating"},
		"There are 5. Duties follow.":        {"There are 5.", "Duties follow."},
		"First line.\n5. Duties of tenants.": {"First line.", "5. Duties of tenants."},
	} {
		var got []string
		for _, s := range Sentences(text) {
			got = append(got, strings.TrimSpace(text[s.Start:s.End]))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("sentences of %q (-want +got):\n%s", text, diff)
		}
	}
}
