package pdfmatch

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Span is a range of a passage in bytes.
type Span struct{ Start, End int }

// Match is a span's location on the pages.
type Match struct {
	Glyphs []int32 // ascending indexes of the glyphs that show it
	// Share is the fraction of the span's letters and digits found, from 0 to 1. Labels that aren't next to their value
	// on the page do not count.
	Share float64
}

// searchMargin is the length of the text before and after a span that is searched for together with the span. Otherwise
// the same words might be found elsewhere. maxWindow is the maximum length of text per search. Both are in bytes.
const (
	searchMargin = 400
	maxWindow    = 6 << 10
)

// Find finds spans within a passage.
func (t *Text) Find(passage string, spans []Span) []Match {
	matches := make([]Match, len(spans))
	order := make([]int, len(spans))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return spans[a].Start - spans[b].Start })
	for len(order) > 0 {
		from, to, n := spans[order[0]].Start, spans[order[0]].End, 1
		for n < len(order) && spans[order[n]].Start < to+searchMargin && max(to, spans[order[n]].End)-from < maxWindow {
			to = max(to, spans[order[n]].End)
			n++
		}
		for _, i := range order[:n] {
			if spans[i].End-spans[i].Start > maxWindow {
				t.findLong(passage, spans[i], &matches[i])
			}
		}
		if to-from <= maxWindow {
			w := t.window(passage, from, to)
			for _, i := range order[:n] {
				matches[i] = w.match(spans[i])
			}
		}
		order = order[n:]
	}
	return matches
}

// findLong finds a span longer than a window, one window at a time.
func (t *Text) findLong(passage string, s Span, m *Match) {
	weight := 0.0
	for from := s.Start; from < s.End; {
		to := min(from+maxWindow, s.End)
		if space := strings.LastIndexByte(passage[from:to], ' '); to < s.End && space > 0 {
			to = from + space + 1 // do not split a word
		}
		for to < s.End && !utf8.RuneStart(passage[to]) {
			to--
		}
		part := t.window(passage, from, to).match(Span{from, to})
		m.Glyphs = append(m.Glyphs, part.Glyphs...)
		m.Share += part.Share * float64(to-from)
		weight += float64(to - from)
		from = to
	}
	slices.Sort(m.Glyphs)
	m.Glyphs = slices.Compact(m.Glyphs)
	m.Share /= weight
}

// window is a section of a passage with its tokens' positions.
type window struct {
	*Text
	passage string
	tokens  []token
	at      []node // by token; `from` is -1 for tokens that were not found
}

// window finds the tokens of passage[from:to] on the pages. It also searches for the text around passage[from:to], so
// that it doesn't find the same words elsewhere.
func (t *Text) window(passage string, from, to int) *window {
	from, to = max(0, from-searchMargin), min(len(passage), to+searchMargin)
	for from > 0 && !utf8.RuneStart(passage[from]) {
		from--
	}
	for to < len(passage) && !utf8.RuneStart(passage[to]) {
		to++
	}
	w := &window{Text: t, passage: passage, tokens: t.split(tokens(passage, from, to))}
	w.at = make([]node, len(w.tokens))
	for i := range w.at {
		w.at[i].from = -1
	}
	for _, n := range t.bestPath(w.tokens) {
		w.at[n.token] = n
	}
	w.findLabels()
	return w
}

// match returns a span's glyphs, including the punctuation between and around its tokens.
func (w *window) match(s Span) (m Match) {
	found, all := 0, 0
	last := -1 // the previous token that was found
	add := func(from, to int32) {
		for g := from; g <= to; g++ {
			m.Glyphs = append(m.Glyphs, g)
		}
	}
	for i, tok := range w.tokens {
		if tok.from < s.Start || tok.to > s.End {
			continue
		}
		at := w.at[i]
		if !tok.label || at.from >= 0 {
			all += len(tok.runes)
		}
		if at.from < 0 {
			continue
		}
		found += len(tok.runes)
		begin, end := w.core[at.from].glyph, w.core[at.to].glyph
		switch {
		case last >= 0 && w.at[last].to+1 == at.from:
			begin = w.core[w.at[last].to].glyph // include the punctuation between
		case last >= 0:
			add(w.extendForward(w.core[w.at[last].to].glyph, w.tokens[last].to, tok.from))
			begin = w.extendBackward(begin, w.tokens[last].to, tok.from)
		default:
			begin = w.extendBackward(begin, s.Start, tok.from)
		}
		add(begin, end)
		last = i
	}
	if last >= 0 {
		add(w.extendForward(w.core[w.at[last].to].glyph, w.tokens[last].to, s.End))
	}
	slices.Sort(m.Glyphs)
	m.Glyphs = slices.Compact(m.Glyphs)
	if all > 0 {
		m.Share = float64(found) / float64(all)
	}
	return m
}

// extendForward extends a match to the punctuation after it. It compares the glyphs after `glyph` with passage[from:to]
// up to the first difference. It returns the indexes of the first and last equal glyph. If no glyph is equal, `last` is
// less than `first`.
func (w *window) extendForward(glyph int32, from, to int) (first, last int32) {
	first, last = glyph+1, glyph
	for from < to && int(last)+1 < len(w.glyphs) {
		r, n := utf8.DecodeRuneInString(w.passage[from:to])
		if from += n; unicode.IsSpace(r) {
			continue
		}
		next, _ := utf8.DecodeRuneInString(w.glyphs[last+1].Text)
		if next != r || len(fold(nil, r)) > 0 || w.glyphs[last+1].Line != w.glyphs[glyph].Line {
			break
		}
		last++
	}
	return first, last
}

// extendBackward extends a match to the punctuation before it. It compares the glyphs before `glyph` with
// passage[from:to], backwards, up to the first difference. It returns the index of the equal glyph that comes first on
// the page, or `glyph` if no glyph is equal.
func (w *window) extendBackward(glyph int32, from, to int) int32 {
	first := glyph
	for from < to && first > 0 {
		r, n := utf8.DecodeLastRuneInString(w.passage[from:to])
		if to -= n; unicode.IsSpace(r) {
			continue
		}
		next, _ := utf8.DecodeRuneInString(w.glyphs[first-1].Text)
		if next != r || len(fold(nil, r)) > 0 || w.glyphs[first-1].Line != w.glyphs[glyph].Line {
			break
		}
		first--
	}
	return first
}
