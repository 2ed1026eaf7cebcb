package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind says how a token becomes a term.
type tokenKind uint8

const (
	kindWord     tokenKind = iota // word or part of one: stemmed
	kindWhole                     // identifier or part number without spaces: unchanged
	kindUnspaced                  // character in a script without spaces, or pair of such characters
)

// token is a lower-case word, identifier or character, still with diacritics.
type token struct {
	text string
	kind tokenKind
}

type wordRun struct {
	text   string // as written, without invisible characters
	joints string // as written; "" if no invisible characters separate its parts
	joiner rune   // joins it to the next run, e.g. a hyphen; 0 if none
}

// Maximum number of words joined into one token, as in "192.168.10.1" or "snake_case_name".
const maxJoined = 8

// tokens calls emit with the text's tokens in reading order, until emit returns false.
func tokens(text string, emit func(token) bool) {
	text = normalised(text)
	s := splitter{emit: emit}
	for i := 0; i < len(text) && !s.stopped; {
		i = s.next(text, i)
	}
	s.flush()
}

// next processes the token at text[i] and returns its end. i must be the start of a character.
func (s *splitter) next(text string, i int) int {
	r, size := utf8.DecodeRuneInString(text[i:])
	switch classOf(r) {
	case classWord:
		end := wordEnd(text, i)
		s.word(text[i:end], joinerAt(text, end))
		return end
	case classUnspaced:
		s.flush()
		return s.unspaced(text, i)
	}
	return i + size
}

// wordEnd returns the end of the word at text[i].
func wordEnd(text string, i int) int {
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		if c := classOf(r); c == classOther || c == classUnspaced {
			return i
		}
		i += size
	}
	return i
}

// joinerAt returns the character at text[i] if it joins two words, as a hyphen does, and otherwise 0.
func joinerAt(text string, i int) rune {
	r, size := utf8.DecodeRuneInString(text[i:])
	switch r {
	case '_', '-', '.', ',', '/', '\u2010', '\u2011':
	default:
		return 0
	}
	next, _ := utf8.DecodeRuneInString(text[i+size:])
	if classOf(next) != classWord {
		return 0
	}
	if r == '\u2010' || r == '\u2011' {
		return '-'
	}
	return r
}

// splitter collects joined words, as in AX-200. After the last one, it emits the single words and then the tokens that
// join several.
type splitter struct {
	emit    func(token) bool
	known   func(word string) bool // emits a cached word's parts; false if not cached; may be nil
	pending [maxJoined]wordRun
	n       int
	stopped bool
}

func (s *splitter) out(text string, kind tokenKind) {
	if !s.stopped && text != "" && !s.emit(token{truncateTerm(text), kind}) {
		s.stopped = true
	}
}

// word adds a run of word characters. j is the character that joins the run to the next one, or 0 if no run follows.
func (s *splitter) word(text string, j rune) {
	if s.n == maxJoined {
		s.flush()
	}
	s.pending[s.n] = wordRun{text: removeInvisible(text), joiner: j}
	if hasJoints(text) {
		s.pending[s.n].joints = text
	}
	s.n++
	if j == 0 {
		s.flush()
	}
}

// flush emits the collected words' tokens: each word with its parts, and then the tokens that join several.
func (s *splitter) flush() {
	for i := range s.n {
		if word := s.pending[i].text; s.known == nil || !s.known(word) {
			s.compound(word)
		}
		if word := s.pending[i].joints; word != "" {
			for part := range strings.FieldsFuncSeq(word, isJoint) {
				s.compoundPart(removeInvisible(part))
			}
		}
	}
	for i := 0; i < s.n; {
		end := i
		for end+1 < s.n && joinsPieces(s.pending[end], s.pending[end+1]) {
			end++
		}
		if end > i {
			s.whole(s.pending[i : end+1])
		}
		i = end + 1
	}
	s.n = 0
}

// joinsPieces reports whether two adjacent words form one name or number, such as snake_case, AX-200, 12/345, v1.2 or
// 1,000.
func joinsPieces(a, b wordRun) bool {
	switch a.joiner {
	case '_':
		return true
	case '-':
		return true
	case '/':
		return hasDigit(a.text) && hasDigit(b.text)
	case '.':
		return hasDigit(a.text) && hasDigit(b.text)
	case ',':
		return allDigits(a.text) && allDigits(b.text) && len(b.text) == 3
	}
	return false
}

// whole emits joined words as one token: "AX-200" as ax200, "1,000" as 1000, "v1.2" as 1.2.
func (s *splitter) whole(ps []wordRun) {
	digits, size := false, 0
	for _, p := range ps {
		digits = digits || hasDigit(p.text)
		size += len(p.text)
	}
	if size > 4*MaxTermRunes {
		return
	}
	if ps[0].joiner == '-' && !digits && len(ps) > 2 {
		return // "state-of-the-art" is a phrase, not a name
	}
	var b strings.Builder
	for i, p := range ps {
		b.WriteString(p.text)
		if p.joiner == '.' && i < len(ps)-1 {
			b.WriteByte('.')
		}
	}
	w := strings.ToLower(b.String())
	if len(w) > 2 && w[0] == 'v' && w[1] >= '0' && w[1] <= '9' && strings.Contains(w, ".") {
		w = w[1:]
	}
	kind := kindWhole
	if !digits {
		kind = kindWord
	}
	s.out(w, kind)
}

// compound emits a word and, if it is a compound (camelCase, AX200), its parts.
func (s *splitter) compound(word string) {
	lower := strings.ToLower(word)
	if hasDigit(word) && !allDigits(word) {
		s.out(lower, kindWhole)
	} else {
		s.out(lower, kindWord)
	}
	start, n := 0, 0
	var prev, before rune
	for i, r := range word {
		if i > 0 && boundary(before, prev, r, word[i:]) {
			s.compoundPart(word[start:i])
			start = i
			n++
		}
		before, prev = prev, r
	}
	if n > 0 {
		s.compoundPart(word[start:])
	}
}

// isJoint reports whether a character can invisibly separate parts of a word: the zero-width space or non-joiner.
func isJoint(r rune) bool { return r == '\u200b' || r == '\u200c' }

// hasJoints reports whether invisible characters separate parts of a word. A zero-width non-joiner does so only in the
// Arabic script, between Persian affixes and parts of compounds. Elsewhere it just prevents a ligature.
func hasJoints(word string) bool {
	if i := strings.Index(word, "\u200b"); i > 0 && i+len("\u200b") < len(word) {
		return true
	}
	first, _ := utf8.DecodeRuneInString(word)
	i := strings.Index(word, "\u200c")
	return i > 0 && i+len("\u200c") < len(word) && unicode.Is(unicode.Arabic, first)
}

// compoundPart emits a part of a word, unless it is a single character, which would match too much.
func (s *splitter) compoundPart(text string) {
	if utf8.RuneCountInString(text) > 1 {
		s.out(strings.ToLower(text), kindWord)
	}
}

// boundary reports whether a new part of a word begins at r, as in foo|Bar, HTML|Parser and AX|200. `before` and `prev`
// are the two characters before r, and `rest` is the text from r on.
func boundary(before, prev, r rune, rest string) bool {
	if unicode.IsDigit(prev) != unicode.IsDigit(r) && !unicode.Is(unicode.M, r) {
		return true
	}
	if !unicode.IsUpper(r) {
		return false
	}
	if unicode.IsLower(prev) {
		return true
	}
	_, size := utf8.DecodeRuneInString(rest)
	next, _ := utf8.DecodeRuneInString(rest[size:])
	return unicode.IsUpper(prev) && before != 0 && unicode.IsLower(next) && next != 's'
}

// unspaced emits the characters in a run without spaces, and the pairs of adjacent ones. It returns the end of the run.
func (s *splitter) unspaced(text string, i int) int {
	prev := ""
	for i < len(text) && !s.stopped {
		r, size := utf8.DecodeRuneInString(text[i:])
		if c := classOf(r); c == classIgnored {
			i += size
			continue
		} else if c != classUnspaced {
			break
		}
		end := i + size
		for marks := 0; end < len(text) && marks < 4; marks++ {
			m, n := utf8.DecodeRuneInString(text[end:])
			if classOf(m) != classMark {
				break
			}
			end += n
		}
		cluster := text[i:end]
		s.out(cluster, kindUnspaced)
		if prev != "" {
			s.out(prev+cluster, kindUnspaced)
		}
		prev = cluster
		i = end
		for i < len(text) { // drop combining marks beyond the limit
			m, n := utf8.DecodeRuneInString(text[i:])
			if classOf(m) != classMark {
				break
			}
			i += n
		}
	}
	return i
}

func removeInvisible(word string) string {
	for i := 0; i < len(word); i++ {
		if word[i] >= utf8.RuneSelf {
			return strings.Map(func(r rune) rune {
				if classOf(r) == classIgnored {
					return -1
				}
				return r
			}, word)
		}
	}
	return word
}

func truncateTerm(s string) string {
	if len(s) <= MaxTermRunes {
		return s
	}
	n := 0
	for i := range s {
		if n == MaxTermRunes {
			return s[:i]
		}
		n++
	}
	return s
}

func hasDigit(s string) bool {
	return strings.ContainsFunc(s, unicode.IsDigit)
}

func allDigits(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsDigit(r) })
}
