package analysis

import (
	"iter"
	"slices"
	"unicode/utf8"
)

// Match is a passage, text[Start:End], that matches a query.
type Match struct{ Start, End int }

// Matches returns up to `limit` words in a text that match a query term, in order. `lang` is the result of Detect.
// Adjacent matches in a script without spaces are merged, and so are matches separated by a single joining character,
// as in AX-200.
func Matches(text string, lang Language, query []QueryTerm, limit int) []Match {
	forms := formsToMark(query)
	var out []Match
	mark := func(start, end int) {
		if n := len(out); n > 0 && (start <= out[n-1].End || isJoined(text[out[n-1].End:start])) {
			out[n-1].End = max(out[n-1].End, end)
		} else {
			out = append(out, Match{start, end})
		}
	}
	previous, from := "", 0 // the character before this one, if its script has no spaces, and its offset
	for i := 0; i < len(text) && len(out) <= limit; {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch classOf(r) {
		case classWord:
			end := wordEnd(text, i)
			if matchesWord(text[i:end], lang, forms) {
				mark(i, end)
			}
			previous, i = "", end
		case classUnspaced:
			end := i + size
			for end < len(text) {
				m, n := utf8.DecodeRuneInString(text[end:])
				if c := classOf(m); c != classMark && c != classIgnored {
					break
				}
				end += n
			}
			cluster := text[i:end]
			switch {
			case previous != "" && matchesWord(previous+cluster, lang, forms):
				mark(from, end)
			case matchesWord(cluster, lang, forms):
				mark(i, end)
			}
			previous, from, i = cluster, i, end
		default:
			previous, i = "", i+size
		}
	}
	return out[:min(len(out), limit)]
}

// isJoined reports whether the text between two words is a single joining character, such as a hyphen.
func isJoined(between string) bool {
	r, size := utf8.DecodeRuneInString(between)
	return size == len(between) && joinerAt(between+"a", 0) == r
}

func matchesWord(word string, lang Language, forms map[string]bool) (matches bool) {
	tokens(word, func(t token) bool {
		matches = t.kind != kindUnspaced && forms[termOf(t, lang)] || t.kind == kindUnspaced && len(t.text) >= len(word) && forms[t.text]
		if bare, ok := bareToken(t, lang); ok && !matches {
			matches = forms[termOf(bare, bareVietnamese)]
		}
		return !matches
	})
	return matches
}

// formsToMark returns the forms of the query's terms. In scripts without spaces, some forms are single characters and
// some are pairs. If a pair is among the forms, formsToMark omits its two characters, because each of them is in many
// other words.
func formsToMark(query []QueryTerm) map[string]bool {
	forms := make(map[string]bool)
	inPair := make(map[string]bool)
	for _, q := range query {
		all := q.Forms
		for _, a := range q.Alternatives {
			all = slices.Concat(append([][]string{all}, a.Words...)...)
		}
		for _, form := range all {
			forms[form] = true
			r, size := utf8.DecodeRuneInString(form)
			if size < len(form) && classOf(r) == classUnspaced {
				for c := range clusters(form) {
					inPair[c] = true
				}
			}
		}
	}
	for c := range inPair {
		delete(forms, c)
	}
	return forms
}

// clusters yields the characters of a two-character term, each with its combining marks. It yields nothing for a single
// character.
func clusters(term string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for start := 0; start < len(term); {
			_, size := utf8.DecodeRuneInString(term[start:])
			end := start + size
			for end < len(term) {
				m, n := utf8.DecodeRuneInString(term[end:])
				if classOf(m) != classMark {
					break
				}
				end += n
			}
			if end == len(term) && start == 0 || !yield(term[start:end]) {
				return
			}
			start = end
		}
	}
}
