package model

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
)

// Tag identifies a document in its own text: every sentence contains the tag and the version. So a fragment shows which
// document and version it is from, regardless of what the service says.
type Tag struct {
	Tenant, Store, Number int
}

// String returns the tag as it appears in documents' text. It is also the document's custom id.
func (t Tag) String() string { return fmt.Sprintf("t%dd%dk%06d", t.Tenant, t.Store, t.Number) }

// Maximum number of sentences in a text: about 6 chunks.
const maxSentences = 24

const sentencesPerParagraph = 4

var (
	qualities = strings.Fields("amber brittle calm distant early frozen gentle hollow inner jagged level molten narrow outer polished quiet rough silver thin upper")
	things    = strings.Fields("anchor bridge canal dome engine furnace gate harbour island junction kiln lantern mill needle orchard pump quarry river shaft tower")
	verbs     = strings.Fields("blocks carries drains feeds guards heats joins lifts marks opens passes quenches raises shields turns warms")
)

// Text returns the content of a document's version. It depends only on its arguments, so there is nothing to store.
func Text(tag Tag, version int) string {
	h := fnv.New64a()
	fmt.Fprint(h, tag, version)
	random := rand.New(rand.NewPCG(h.Sum64(), uint64(version)))
	pick := func(words []string) string { return words[random.IntN(len(words))] }
	var b strings.Builder
	for i := range 1 + random.IntN(maxSentences) {
		switch {
		case i == 0:
		case i%sentencesPerParagraph == 0:
			b.WriteString("\n\n")
		default:
			b.WriteString(" ")
		}
		fmt.Fprintf(&b, "Entry %s version v%d part p%d says that the %s %s %s the %s %s and the %s %s %s the %s %s.", tag, version, i,
			pick(qualities), pick(things), pick(verbs), pick(qualities), pick(things), pick(qualities), pick(things), pick(verbs), pick(qualities), pick(things))
	}
	return b.String()
}

// Sentence returns the first sentence of a version's text. As a query, it finds the version.
func Sentence(tag Tag, version int) string {
	before, _, _ := strings.Cut(Text(tag, version), ".")
	return before
}

var mark = regexp.MustCompile(`t(\d{1,4})d(\d{1,4})k(\d{6}) version v(\d{1,9})\b`)

// Errors returned by Identify.
var (
	ErrForeign = errors.New("the text was never written")
	ErrMixed   = errors.New("the text mixes several versions or documents")
)

// Identify returns the document and version that a fragment is from. It returns ErrMixed or ErrForeign unless the
// fragment is a contiguous part of one version's text, ignoring white space.
func Identify(fragment string) (Tag, int, error) {
	fragment = normalised(fragment)
	found := mark.FindAllStringSubmatch(fragment, -1)
	if len(found) == 0 {
		return Tag{}, 0, fmt.Errorf("%w: %q", ErrForeign, fragment)
	}
	tag, version := parse(found[0])
	for _, other := range found[1:] {
		if t, v := parse(other); t != tag || v != version {
			return tag, version, fmt.Errorf("%w: %s in version %d and %s in version %d", ErrMixed, tag, version, t, v)
		}
	}
	if !strings.Contains(normalised(Text(tag, version)), fragment) {
		return tag, version, fmt.Errorf("%w: %q is no part of version %d of %s", ErrForeign, fragment, version, tag)
	}
	return tag, version, nil
}

// IsWhole reports whether the pieces add up, in order, to the version's complete text.
func IsWhole(tag Tag, version int, pieces []string) bool {
	return normalised(strings.Join(pieces, " ")) == normalised(Text(tag, version))
}

// parse converts a matched tag's parts. The regular expression matches only numbers that fit into an int.
func parse(m []string) (Tag, int) {
	n := make([]int, len(m))
	for i := 1; i < len(m); i++ {
		n[i], _ = strconv.Atoi(m[i])
	}
	return Tag{n[1], n[2], n[3]}, n[4]
}

func normalised(text string) string { return strings.Join(strings.Fields(text), " ") }

var tagForm = regexp.MustCompile(`^t(\d{1,4})d(\d{1,4})k(\d{6})$`)

// ParseTag parses a tag as returned by String.
func ParseTag(s string) (Tag, bool) {
	m := tagForm.FindStringSubmatch(s)
	if m == nil {
		return Tag{}, false
	}
	m = append(m, "0") // parse expects a version
	tag, _ := parse(m)
	return tag, true
}
