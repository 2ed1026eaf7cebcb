package analysis

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Batch counts the terms of texts that are stored together. Terms have numbers, so that nobody who goes on with them needs to
// look strings up again. It is not safe for concurrent use.
type Batch struct {
	analyzer *Analyzer
	terms    []string // by number
	numbers  []numbered
	row      uint32 // that is being counted; the first is 1
	counts   []TermCount
	length   uint32
	before   struct { // what repeated was asked for last
		text string
		lang Language
		ids  []uint32
	}
}

// numbered is where the batch and its row have a term of the analyzer.
type numbered struct {
	batch  uint32 // that number is of
	number uint32
	row    uint32 // that at is of
	at     uint32 // among the row's counts
}

// Part is a text of a row, and what each of its terms counts.
type Part struct {
	Text   string
	Weight uint32
}

// TermCount is how often a term counts in a row; the term is given by its number in the batch.
type TermCount struct {
	Term  uint32
	Count uint32
}

// Batch starts a batch. The analyzer is not to be used otherwise while texts are counted; the batch's terms are its own.
func (a *Analyzer) Batch() *Batch {
	a.batch++
	if a.epoch == 0 || len(a.terms) > maxNumbered { // else it would know ever more
		a.epoch++
		a.terms, a.numbers, a.notes = nil, make(map[string]uint32), nil
	}
	if a.words.count > maxKnown {
		a.words = wordTable{}
	}
	return &Batch{analyzer: a}
}

// maxNumbered is how many terms an Analyzer numbers before it starts anew with the next batch: a few megabytes. There are more of
// them than of words, as every figure is one.
const maxNumbered = 1 << 16

// maxKnown is likewise how many words it knows, of some 250 bytes each.
const maxKnown = 1 << 15

// Terms lists all terms so far by their numbers, each once. It is only to be read.
func (b *Batch) Terms() []string { return b.terms }

// Name returns the number of a term that no text has to yield.
func (b *Batch) Name(term string) uint32 {
	return b.numbers[b.place(b.analyzer.idOf(term))].number
}

// Count returns the language of a row, which its first part shows, and the terms of all its parts, each once and at most MaxTerms of
// each part, with the sum of what they count.
func (b *Batch) Count(parts ...Part) (lang Language, length uint32, terms []TermCount) {
	a := b.analyzer
	b.row++
	b.length, b.counts = 0, b.counts[:0]
	for i, p := range parts {
		if i == 0 {
			var known []*knownWord
			lang, known = a.detect(p.Text)
			a.ids(p.Text, lang, known, func(id uint32) { b.count(id, p.Weight) })
			continue
		}
		for _, id := range b.repeated(p.Text, lang) {
			b.count(id, p.Weight)
		}
	}
	return lang, b.length, append(make([]TermCount, 0, len(b.counts)), b.counts...)
}

// repeated returns the numbers of the terms of a text that is likely to be that of the row before, too: the headings that rows
// stand below.
func (b *Batch) repeated(text string, lang Language) []uint32 {
	if b.before.ids == nil || b.before.text != text || b.before.lang != lang {
		b.before.text, b.before.lang, b.before.ids = text, lang, b.before.ids[:0]
		b.analyzer.ids(text, lang, nil, func(id uint32) { b.before.ids = append(b.before.ids, id) })
	}
	return b.before.ids
}

func (b *Batch) count(id, weight uint32) {
	n := &b.numbers[b.place(id)]
	if n.row != b.row {
		n.row, n.at = b.row, uint32(len(b.counts))
		b.counts = append(b.counts, TermCount{Term: n.number})
	}
	b.counts[n.at].Count += weight
	b.length += weight
}

// place numbers a term of the analyzer in this batch, if it has no number yet, and returns where that is noted.
func (b *Batch) place(id uint32) uint32 {
	if int(id) >= len(b.numbers) {
		b.numbers = b.analyzer.noted(int(id) + 1)
	}
	if n := &b.numbers[id]; n.batch != b.analyzer.batch {
		*n = numbered{batch: b.analyzer.batch, number: uint32(len(b.terms))}
		b.terms = append(b.terms, b.analyzer.terms[id])
	}
	return id
}

// noted returns room for notes about so many terms, with what has been noted.
func (a *Analyzer) noted(n int) []numbered {
	if n > len(a.notes) {
		a.notes = append(a.notes, make([]numbered, max(n, 2*len(a.notes), 1024)-len(a.notes))...)
	}
	return a.notes
}

// idOf returns the analyzer's number of a term.
func (a *Analyzer) idOf(term string) uint32 {
	if id, ok := a.numbers[term]; ok {
		return id
	}
	id := uint32(len(a.terms))
	term = strings.Clone(term)
	a.numbers[term] = id
	a.terms = append(a.terms, term)
	return id
}

// knownWord is what is known of a run of ASCII letters and digits.
type knownWord struct {
	lower  string
	votes  uint64  // languages of the Latin electorate that have it among their function words
	word   bool    // it has letters
	tokens []token // that it yields where nothing joins it to its neighbours; nearly always one

	in    [2]knownTerms // the language that was asked for last is the first
	token [1]token
	ids   [2][1]uint32
}

// knownTerms are the numbers of the terms that a word's tokens become in a language. A document's tables and its text often
// show two languages in turn.
type knownTerms struct {
	lang  Language
	epoch uint32 // that the numbers are of; 0 while they were not asked for
	ids   []uint32
}

// known looks a run of ASCII letters and digits up, which has at most maxKnownBytes.
func (a *Analyzer) known(text string) *knownWord {
	key := keyOf(text)
	if c := text[0]; c >= 'A' && c <= 'Z' && !capitals(text[1:]) { // a capital in front parts nothing
		key[0] |= 'a' - 'A'
	}
	slot := a.words.find(key)
	if slot.word == nil {
		slot = a.words.add(key, learn(key.text()))
	}
	return slot.word
}

// learn makes what is known of a word.
func learn(text string) *knownWord {
	k := &knownWord{lower: strings.ToLower(text)}
	k.tokens, k.in[0].ids, k.in[1].ids = k.token[:0], k.ids[0][:0], k.ids[1][:0] // where there is room for one
	k.word = strings.Trim(k.lower, "0123456789") != ""
	k.votes = latinElectorate.of[k.lower]
	s := splitter{emit: func(t token) bool {
		k.tokens = append(k.tokens, t)
		return true
	}}
	s.word(text, 0)
	return k
}

// capitals reports whether there is a capital among ASCII letters and digits.
func capitals(s string) bool {
	for i := range len(s) {
		if s[i] >= 'A' && s[i] <= 'Z' {
			return true
		}
	}
	return false
}

// idsIn returns the numbers of the terms of a word.
func (k *knownWord) idsIn(a *Analyzer, lang Language) []uint32 {
	in := &k.in[0]
	if in.epoch == a.epoch && in.lang == lang {
		return in.ids
	}
	k.in[0], k.in[1] = k.in[1], k.in[0]
	if in.epoch == a.epoch && in.lang == lang {
		return in.ids
	}
	in.epoch, in.lang, in.ids = a.epoch, lang, in.ids[:0]
	for _, t := range k.tokens {
		if t.kind == kindWord {
			in.ids = append(in.ids, a.idOf(term(t.text, lang)))
			continue
		}
		in.ids = append(in.ids, a.idOf(a.term(t, lang)))
	}
	return in.ids
}

// detect is Detect. It also returns the runs of letters and digits of a text that has nothing beyond ASCII, as far as it has met them all:
// such a text is read once.
func (a *Analyzer) detect(text string) (Language, []*knownWord) {
	if len(text) > maxDetectWords*32 {
		return Detect(text), nil
	}
	a.found, a.lower, a.votes = a.found[:0], a.lower[:0], a.votes[:0]
	for i := 0; i < len(text); {
		if text[i] >= utf8.RuneSelf {
			return Detect(text), nil
		}
		if !asciiWord[text[i]] {
			i++
			continue
		}
		end := asciiEnd(text, i)
		if end-i > maxKnownBytes {
			return Detect(text), nil
		}
		k := a.known(text[i:end])
		a.found = append(a.found, k)
		if k.word && len(a.lower) < maxDetectWords {
			a.lower, a.votes = append(a.lower, k.lower), append(a.votes, k.votes)
		}
		i = end
	}
	if len(a.lower) == 0 {
		return Unknown, a.found
	}
	return detectLatin(text, a.lower, a.votes), a.found
}

// ids calls f for the numbers of the terms of a text, in reading order, as often as they occur, at most MaxTerms. known are its runs of
// letters and digits if it is known that these are all of ASCII.
func (a *Analyzer) ids(text string, lang Language, known []*knownWord, f func(id uint32)) {
	if !norm.NFKC.IsNormalString(text) {
		text = norm.NFKC.String(text)
	}
	left := MaxTerms
	s := splitter{emit: func(t token) bool {
		if left > 0 {
			f(a.idOf(a.term(t, lang)))
			left--
		}
		return left > 0
	}}
	take := func(k *knownWord) {
		for _, id := range k.idsIn(a, lang) {
			if left > 0 {
				f(id)
				left--
			}
		}
	}
	s.known = func(word string) bool {
		if word == "" || len(word) > maxKnownBytes || asciiEnd(word, 0) < len(word) {
			return false
		}
		take(a.known(word))
		return true
	}
	for i := 0; i < len(text) && left > 0; {
		if !asciiWord[text[i]] {
			if text[i] < utf8.RuneSelf {
				i++
			} else {
				i = s.next(text, i)
			}
			continue
		}
		end := asciiEnd(text, i)
		if end < len(text) && text[end] >= utf8.RuneSelf || end-i > maxKnownBytes { // the word may go on
			i = s.next(text, i)
			continue
		}
		var k *knownWord
		if known != nil {
			k, known = known[0], known[1:]
		}
		switch j := joint(text, end); {
		case j != 0 || s.n > 0:
			s.word(text[i:end], j)
		case k != nil:
			take(k)
		default:
			take(a.known(text[i:end]))
		}
		i = end
	}
	s.flush()
}

// asciiWord tells letters and digits.
var asciiWord = func() (is [256]bool) {
	for c := range utf8.RuneSelf {
		is[c] = classOf(rune(c)) == classWord
	}
	return is
}()

// asciiEnd returns where the run of ASCII letters and digits ends that starts at i.
func asciiEnd(text string, i int) int {
	for i < len(text) && asciiWord[text[i]] {
		i++
	}
	return i
}
