package chunk

// headingContext describes the headings above a piece.
type headingContext struct {
	path   string // result of location.path
	ctx    string // result of location.context
	anchor string // fragment of the location's URL
}

// chunkLocation determines a chunk's location for citations. A chunk that spans several pages or sections is located on
// the page and under the headings where most of its text is, no matter where it begins.
type chunkLocation struct {
	pages    tokenCount[int]
	heads    tokenCount[headingContext]
	entries  tokenCount[definedTerm]
	sections tokenCount[placedLabel] // labels of sections without headings
	tables   tokenCount[placedLabel] // captions; "" for text outside tables
}

// placedLabel is a section label or table caption, together with the headings above its text.
type placedLabel struct {
	headingContext
	label string
}

// definedTerm identifies a term defined in the document, together with the headings above its definition.
type definedTerm struct {
	headingContext
	term string // the term's anchor; "" for text that defines no term
}

func (s *chunkLocation) add(page int, h headingContext, term string, tokens int) {
	s.pages.add(page, tokens)
	s.heads.add(h, tokens)
	s.entries.add(definedTerm{h, term}, tokens)
}

// headings returns the headings above most of the chunk's text, or `other` if the chunk has no text. If most of the
// text under these headings defines one term, the result has that term's anchor.
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

// largestLabel returns the label that applies to the most text under the headings `at`.
func largestLabel(labels tokenCount[placedLabel], at headingContext) string {
	var below tokenCount[string]
	for i, l := range labels.keys {
		if l.path == at.path && l.ctx == at.ctx {
			below.add(l.label, labels.tokens[i])
		}
	}
	return below.largest("")
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

// largest returns the key with the most tokens, or the first of them if there is a tie. It returns `other` if nothing
// was counted.
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
