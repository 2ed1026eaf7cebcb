package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/eval"
	"github.com/sluice/sluice/pkg/eval/service"
	"github.com/sluice/sluice/tools/internal/bench"
)

// chunking is a way to split long documents.
type chunking struct {
	name    string
	size    int // tokens per window; 0 means the service's default chunking
	overlap int // tokens shared with the previous window
}

var chunkings = []chunking{{name: "default"}, {"512-token windows", 512, 0}, {"512-token windows, 64 shared", 512, 64}}

// wholeWindow is a chunking that keeps every window in one chunk.
var wholeWindow = &service.Chunking{TargetTokens: 2048, MaxTokens: 2048}

// cut returns a collection's documents as datastore content, split into windows if w has a window size.
func (w chunking) cut(c bench.Collection) content {
	if w.size == 0 {
		return content{name: c.Name + ", whole", documents: c.Uploads()}
	}
	out := content{name: fmt.Sprintf("%s, windows %d/%d", c.Name, w.size, w.overlap), chunking: wholeWindow}
	for _, d := range c.Documents {
		for _, span := range windows(d.Text, w.size, w.overlap) {
			out.documents = append(out.documents, service.Document{
				CustomID: fmt.Sprintf("%s#%d-%d", d.ID, span.Start, span.End), Name: bench.NameOf(d), Text: d.Text[span.Start:span.End],
			})
		}
	}
	return out
}

// windows splits a text at word boundaries into windows of `size` tokens that overlap by `overlap` tokens. It omits
// blank windows.
func windows(text string, size, overlap int) []eval.Span {
	type word struct{ start, end, tokens int }
	var words []word
	for at := 0; at < len(text); {
		end := at
		for end < len(text) && isSpaceAt(text, end) {
			end += runeLen(text, end)
		}
		for end < len(text) && !isSpaceAt(text, end) {
			end += runeLen(text, end)
		}
		words = append(words, word{at, end, chunk.Tokens(text[at:end])})
		at = end
	}
	var out []eval.Span
	for from := 0; from < len(words); {
		to, tokens := from, 0
		for to < len(words) && (to == from || tokens+words[to].tokens <= size) {
			tokens += words[to].tokens
			to++
		}
		span := eval.Span{Start: words[from].start, End: words[to-1].end}
		if strings.TrimSpace(text[span.Start:span.End]) != "" {
			out = append(out, span)
		}
		if to == len(words) {
			break
		}
		next := to
		for shared := 0; next-1 > from && shared+words[next-1].tokens <= overlap; next-- {
			shared += words[next-1].tokens
		}
		from = next
	}
	return out
}

func isSpaceAt(text string, at int) bool {
	r, _ := utf8.DecodeRuneInString(text[at:])
	return unicode.IsSpace(r)
}

func runeLen(text string, at int) int {
	_, size := utf8.DecodeRuneInString(text[at:])
	return size
}

// windowOf parses a custom id made by cut. The id contains the window's document and range.
func windowOf(customID string) (document string, span eval.Span, err error) {
	document, place, ok := cutLast(customID, "#")
	from, to, parted := strings.Cut(place, "-")
	start, errStart := strconv.Atoi(from)
	end, errEnd := strconv.Atoi(to)
	if !ok || !parted || errStart != nil || errEnd != nil {
		return "", eval.Span{}, fmt.Errorf("%q is no window's id", customID)
	}
	return document, eval.Span{Start: start, End: end}, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
