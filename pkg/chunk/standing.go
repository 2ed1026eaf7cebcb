package chunk

// heads are the words that tell under which headings a piece stands.
type heads struct {
	path   string // place.path()
	ctx    string // place.context()
	anchor string // fragment that leads to the place
}

// standing is where the pieces of a chunk stand. A chunk that reaches over a page or a heading stands where most of its
// text does: a citation that opens there is right for more of what it says than one that opens at its first word.
type standing struct {
	pages   tally[int]
	heads   tally[heads]
	entries tally[entry]
}

// entry is a term that is defined, and the headings above.
type entry struct {
	heads
	term string // its anchor; "" for text that defines none
}

func (s *standing) add(page int, h heads, term string, tokens int) {
	s.pages.add(page, tokens)
	s.heads.add(h, tokens)
	s.entries.add(entry{h, term}, tokens)
}

// most returns the headings above most of the text, or other without text. Their anchor is that of the term to which most of
// the text below them belongs, if there is one.
func (s *standing) most(other heads) heads {
	at := s.heads.most(other)
	var below tally[entry]
	for i, e := range s.entries.keys {
		if e.heads == at {
			below.add(e, s.entries.tokens[i])
		}
	}
	if e := below.most(entry{}); e.term != "" {
		at.anchor = e.term
	}
	return at
}

// tally counts tokens by what they belong to.
type tally[K comparable] struct {
	keys   []K
	tokens []int
}

func (t *tally[K]) add(key K, tokens int) {
	if last := len(t.keys) - 1; last >= 0 && t.keys[last] == key { // pieces come in the order of the document
		t.tokens[last] += tokens
		return
	}
	t.keys, t.tokens = append(t.keys, key), append(t.tokens, tokens)
}

// most is what most tokens belong to, the first of several, or other when nothing was counted.
func (t *tally[K]) most(other K) K {
	best := -1
	for i, n := range t.tokens {
		if best < 0 || n > t.tokens[best] {
			best = i
		}
	}
	if best < 0 {
		return other
	}
	return t.keys[best]
}
