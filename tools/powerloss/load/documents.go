package load

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
)

// State is a document's version, and whether the document was deleted.
type State struct {
	Version int  // from 1; 0 if it was never written
	Gone    bool // deleted
}

// Exists reports whether the document exists.
func (s State) Exists() bool { return s.Version > 0 && !s.Gone }

// String implements fmt.Stringer.
func (s State) String() string {
	switch {
	case s.Version == 0:
		return "not yet written"
	case s.Gone:
		return fmt.Sprintf("deleted after version %d", s.Version)
	default:
		return fmt.Sprintf("version %d", s.Version)
	}
}

// Name identifies a document, across all its versions.
type Name struct {
	CustomID string
	IsFile   bool // a file with several chunks rather than a text with one
}

// Word returns a word that occurs only in this version of the document.
func (n Name) Word(version int) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", n.CustomID, version)
	var b strings.Builder
	b.WriteByte('q')
	for rest := h.Sum64(); b.Len() < 13; rest /= 26 {
		b.WriteByte(byte('a' + rest%26))
	}
	return b.String()
}

// Words per document.
const (
	minTextWords, maxTextWords = 10, 60
	minFileWords, maxFileWords = 2_000, 40_000
	paragraphWords             = 60
)

// words are the documents' vocabulary.
var words = strings.Fields(`power block journal write flush barrier cache sector platter order commit replay record page
	index term row vector list segment checksum header offset length stream message consumer ack sequence subject store
	original chunk digest version upload answer query document language meaning paragraph`)

// Content returns a version's content. It is the same in every run.
func (n Name) Content(version int) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", n.CustomID, version)
	random := rand.New(rand.NewPCG(h.Sum64(), 1))
	count := minTextWords + random.IntN(maxTextWords-minTextWords)
	if n.IsFile {
		count = minFileWords + random.IntN(maxFileWords-minFileWords)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "This is %s in version %d, with the word %s.", n.CustomID, version, n.Word(version))
	for i := range count {
		if i%paragraphWords == paragraphWords-1 {
			b.WriteString(".\n\n")
		} else {
			b.WriteByte(' ')
		}
		b.WriteString(words[random.IntN(len(words))])
	}
	b.WriteByte('.')
	return b.String()
}
