package chunk

// headingContext are the headings above a piece.
type headingContext struct {
	path   string // place.path()
	ctx    string // place.context()
	anchor string // fragment of the location's URL
}

// chunkLocation determines the location of a chunk. A chunk that crosses a page or a heading gets the location of most
// of its text: more of its content is found there than at the location of its first word.
type chunkLocation struct {
	pages   tokenCount[int]
	heads   tokenCount[headingContext]
	entries tokenCount[definedTerm]
}

// definedTerm is a defined term and the headings above it.
type definedTerm struct {
	headingContext
	term string // its anchor; "" for text that defines no term
}

func (s *chunkLocation) add(page int, h headingContext, term string, tokens int) {
	s.pages.add(page, tokens)
	s.heads.add(h, tokens)
	s.entries.add(definedTerm{h, term}, tokens)
}

// headings returns the headings above most of the text, or other if there is no text. The anchor is that of the term to
// which most of the text below them belongs, if there is one.
func (s *chunkLocation) headings(other headingContext) headingContext {
	at := s.heads.largest(other)
	var below tokenCount[definedTerm]
	for i, e := range s.entries.keys {
		if e.headingContext == at {
			below.add(e, s.entries.tokens[i])
		}
	}
	if e := below.largest(definedTerm{}); e.term != "" {
		at.anchor = e.term
	}
	return at
}

// tokenCount counts tokens by key.
type tokenCount[K comparable] struct {
	keys   []K
	tokens []int
}

func (t *tokenCount[K]) add(key K, tokens int) {
	if last := len(t.keys) - 1; last >= 0 && t.keys[last] == key { // pieces arrive in document order
		t.tokens[last] += tokens
		return
	}
	t.keys, t.tokens = append(t.keys, key), append(t.tokens, tokens)
}

// largest returns the key with most tokens, the first of several, or other if nothing was counted.
func (t *tokenCount[K]) largest(other K) K {
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
