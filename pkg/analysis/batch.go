package analysis

import (
	"strings"
	"unicode/utf8"
)

// Batch counts the terms in the texts stored by one write. It numbers the terms, so that later steps need no string
// lookups. It is not safe for concurrent use.
type Batch struct {
	analyzer *Analyzer
	terms    []string // indexed by number
	numbers  []termState
	row      uint32 // current row, from 1
	counts   []TermCount
	length   uint32
	before   struct { // the last call to repeated
		text string
		lang Language
		ids  []uint32
	}
}

// termState is a term's number in the current batch and the index of its count in the current row.
type termState struct {
	batch  uint32 // batch in which `number` is valid
	number uint32
	row    uint32 // row in which `at` is valid
	at     uint32 // index in Batch.counts
}

// Part is one of a row's texts. Each occurrence of a term in it adds Weight to the term's count.
type Part struct {
	Text   string
	Weight uint32
}

// TermCount is a term's weighted count in a row. Term is its number in the batch.
type TermCount struct {
	Term  uint32
	Count uint32
}

// Batch returns a new, empty Batch. Don't use the analyzer for anything else until the batch is complete. Terms from
// the Batch stay valid after that.
func (a *Analyzer) Batch() *Batch {
	a.batch++
	if a.epoch == 0 || len(a.terms) > maxNumbered { // bounds the memory for terms
		a.epoch++
		a.terms, a.numbers, a.states = nil, make(map[string]uint32), nil
	}
	if a.words.count > maxKnown {
		a.words = wordTable{}
	}
	return &Batch{analyzer: a}
}

// Maximum number of terms cached between batches (a few megabytes). If there are more, the next batch clears the cache.
const maxNumbered = 1 << 16

// Maximum number of analysed words cached between batches, at about 250 bytes each. If there are more, the next batch
// clears the cache.
const maxKnown = 1 << 15

// Terms returns the batch's terms so far, indexed by number. Callers must not modify the result.
func (b *Batch) Terms() []string { return b.terms }

// Name returns the batch's number for a term. If the term is new to the batch, Name adds it.
func (b *Batch) Name(term string) uint32 {
	return b.numbers[b.numberOf(b.analyzer.idOf(term))].number
}

// Count detects a row's language from its first part and counts the terms in all parts. It returns the language, the
// row's weighted length and each term's weighted count. It counts at most MaxTerms occurrences per part.
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

// repeated returns the analyzer's term numbers for a text. It caches the last result, because consecutive rows often
// have the same headings.
func (b *Batch) repeated(text string, lang Language) []uint32 {
	if b.before.ids == nil || b.before.text != text || b.before.lang != lang {
		b.before.text, b.before.lang, b.before.ids = text, lang, b.before.ids[:0]
		b.analyzer.ids(text, lang, nil, func(id uint32) { b.before.ids = append(b.before.ids, id) })
	}
	return b.before.ids
}

func (b *Batch) count(id, weight uint32) {
	n := &b.numbers[b.numberOf(id)]
	if n.row != b.row {
		n.row, n.at = b.row, uint32(len(b.counts))
		b.counts = append(b.counts, TermCount{Term: n.number})
	}
	b.counts[n.at].Count += weight
	b.length += weight
}

// numberOf adds the analyzer's term `id` to the batch unless it is already there, and returns id unchanged.
func (b *Batch) numberOf(id uint32) uint32 {
	if int(id) >= len(b.numbers) {
		b.numbers = b.analyzer.statesFor(int(id) + 1)
	}
	if n := &b.numbers[id]; n.batch != b.analyzer.batch {
		*n = termState{batch: b.analyzer.batch, number: uint32(len(b.terms))}
		b.terms = append(b.terms, b.analyzer.terms[id])
	}
	return id
}

// statesFor returns at least n termStates, indexed by the analyzer's term numbers.
func (a *Analyzer) statesFor(n int) []termState {
	if n > len(a.states) {
		a.states = append(a.states, make([]termState, max(n, 2*len(a.states), 1024)-len(a.states))...)
	}
	return a.states
}

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

// knownWord caches the analysis of a run of ASCII letters and digits.
type knownWord struct {
	lower  string
	votes  uint64  // Latin-script languages in which it is a function word, as bits
	word   bool    // contains letters
	tokens []token // when not joined to another word; nearly always one

	in    [2]knownTerms // in two languages, most recently used first
	token [1]token
	ids   [2][1]uint32
}

// knownTerms holds the numbers of a word's terms in one language. A knownWord has two, because a document's text and
// tables are often in different languages.
type knownTerms struct {
	lang  Language
	epoch uint32 // of `ids`; 0 if unset
	ids   []uint32
}

// known returns the analysis of `text`, a run of at most maxKnownBytes ASCII letters and digits. It caches the result.
func (a *Analyzer) known(text string) *knownWord {
	key := keyOf(text)
	if c := text[0]; c >= 'A' && c <= 'Z' && !capitals(text[1:]) { // an initial capital does not split a word
		key[0] |= 'a' - 'A'
	}
	slot := a.words.find(key)
	if slot.word == nil {
		slot = a.words.add(key, analyseWord(key.text()))
	}
	return slot.word
}

func analyseWord(text string) *knownWord {
	k := &knownWord{lower: strings.ToLower(text)}
	k.tokens, k.in[0].ids, k.in[1].ids = k.token[:0], k.ids[0][:0], k.ids[1][:0] // arrays in knownWord, with room for one element
	k.word = strings.Trim(k.lower, "0123456789") != ""
	k.votes = latinVotes.byWord[k.lower]
	s := splitter{emit: func(t token) bool {
		k.tokens = append(k.tokens, t)
		return true
	}}
	s.word(text, 0)
	return k
}

func capitals(s string) bool {
	for i := range len(s) {
		if s[i] >= 'A' && s[i] <= 'Z' {
			return true
		}
	}
	return false
}

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

// detect returns the same language as Detect. For all-ASCII text, it also returns the analysis of each run of letters
// and digits, so that the caller doesn't have to look the runs up again.
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

// ids calls f with the number of each term in a text, in reading order and with repetitions, up to MaxTerms times.
// `known` is detect's second result for this text, or nil.
func (a *Analyzer) ids(text string, lang Language, known []*knownWord, f func(id uint32)) {
	text = normalised(text)
	left := MaxTerms
	s := splitter{emit: func(t token) bool {
		if left > 0 {
			f(a.idOf(a.term(t, lang)))
			left--
		}
		if bare, ok := bareToken(t, lang); ok && left > 0 {
			f(a.idOf(a.term(bare, bareVietnamese)))
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
		switch j := joinerAt(text, end); {
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

// asciiWord is true for ASCII letters and digits.
var asciiWord = func() (is [256]bool) {
	for c := range utf8.RuneSelf {
		is[c] = classOf(rune(c)) == classWord
	}
	return is
}()

// asciiEnd returns the end of the run of ASCII letters and digits that starts at text[i].
func asciiEnd(text string, i int) int {
	for i < len(text) && asciiWord[text[i]] {
		i++
	}
	return i
}
