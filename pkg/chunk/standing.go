package chunk

// heads are the headings above a piece.
type heads struct {
	path   string // place.path()
	ctx    string // place.context()
	anchor string // fragment of the location's URL
}

// standing determines the location of a chunk. A chunk that crosses a page or a heading gets the location of most of
// its text: more of its content is found there than at the location of its first word.
type standing struct {
	pages   tally[int]
	heads   tally[heads]
	entries tally[entry]
}

// entry is a defined term and the headings above it.
type entry struct {
	heads
	term string // its anchor; "" for text that defines no term
}

func (s *standing) add(page int, h heads, term string, tokens int) {
	s.pages.add(page, tokens)
	s.heads.add(h, tokens)
	s.entries.add(entry{h, term}, tokens)
}

// most returns the headings above most of the text, or other if there is no text. The anchor is that of the term to
// which most of the text below them belongs, if there is one.
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

// tally counts tokens by key.
type tally[K comparable] struct {
	keys   []K
	tokens []int
}

func (t *tally[K]) add(key K, tokens int) {
	if last := len(t.keys) - 1; last >= 0 && t.keys[last] == key { // pieces arrive in document order
		t.tokens[last] += tokens
		return
	}
	t.keys, t.tokens = append(t.keys, key), append(t.tokens, tokens)
}

// most returns the key with most tokens, the first of several, or other if nothing was counted.
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
