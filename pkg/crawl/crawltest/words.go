package crawltest

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
)

var (
	nouns = strings.Fields(`valve harbour lantern bridge mill orchard ferry quarry kiln anchor compass barrel ledger signal
		turbine cellar meadow furnace pulley archive beacon trellis rudder canal granary hinge loom pier sluice tower wharf
		boiler chimney gasket crane ditch engine forge garden hammer inlet jetty keel ladder magnet nozzle oven pump rivet`)
	adjectives = strings.Fields(`copper northern silent narrow amber hollow brisk early crooked gentle heavy idle lower mellow
		oaken plain quiet rusty sandy tall upper vivid western yellow broad coastal distant even faint green humid`)
	verbs = strings.Fields(`carries holds drives feeds guards lifts measures meets moves opens reaches shelters turns warms
		crosses drains follows joins keeps leads marks needs outlasts passes`)
)

// hash returns a 64-bit hash of the site's seed and `parts`.
func (s *Site) hash(parts ...string) uint64 {
	h := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s", s.opts.Seed, strings.Join(parts, "\x00")))
	return binary.BigEndian.Uint64(h[:8])
}

// random returns a random source that is seeded with the site's seed and `parts`.
func (s *Site) random(parts ...string) *rand.Rand {
	return rand.New(rand.NewPCG(s.hash(parts...), s.opts.Seed))
}

// word makes a word from n. The word is so unusual that no other text contains it by chance.
func word(n uint64) string {
	const letters = "bcdfghjklmnpqrstvwxz"
	out := []byte("zq")
	for range 9 {
		out = append(out, letters[n%uint64(len(letters))])
		n /= uint64(len(letters))
	}
	return string(out)
}

// prose returns paragraphs of English-looking text, 1 to 3 KB.
func prose(r *rand.Rand) []string {
	out := make([]string, 4+r.IntN(5))
	for i := range out {
		var b strings.Builder
		for k := range 4 + r.IntN(3) {
			if k > 0 {
				b.WriteByte(' ')
			}
			fmt.Fprintf(&b, "The %s %s %s the %s %s near the %s.",
				pick(r, adjectives), pick(r, nouns), pick(r, verbs), pick(r, adjectives), pick(r, nouns), pick(r, nouns))
		}
		out[i] = b.String()
	}
	return out
}

func pick(r *rand.Rand, words []string) string { return words[r.IntN(len(words))] }
