package transformer

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"golang.org/x/text/unicode/norm"
)

const (
	maxNested = 2  // maximum depth of nested normalizers
	maxSteps  = 32 // maximum number of steps in a normalizer
	// Maximum size in bytes of a segment after a normalisation step; longer results are truncated. A segment has about
	// 4 KiB, and Unicode normalisation makes a character at most eleven times longer.
	maxNormalized = 1 << 20
)

// parseNormalizer parses the normalizer of a Unigram tokeniser, which processes text before it is split into words.
func parseNormalizer(raw json.RawMessage, depth int) (func(string) string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return func(s string) string { return s }, nil
	}
	var n struct {
		Type    string            `json:"type"`
		Steps   []json.RawMessage `json:"normalizers"`
		Map     []byte            `json:"precompiled_charsmap"`
		Content string            `json:"content"`
		Pattern struct{ Regex, String string }
		Left    bool `json:"strip_left"`
		Right   bool `json:"strip_right"`
	}
	if err := json.Unmarshal(raw, &n); err != nil {
		return nil, err
	}
	switch {
	case len(n.Steps) > maxSteps:
		return nil, fmt.Errorf("it has %d steps; at most %d are supported", len(n.Steps), maxSteps)
	case n.Type == "Sequence" && depth < maxNested:
		steps := make([]func(string) string, len(n.Steps))
		for i, raw := range n.Steps {
			var err error
			if steps[i], err = parseNormalizer(raw, depth+1); err != nil {
				return nil, err
			}
		}
		return func(s string) string {
			for _, step := range steps {
				s = cutNormalized(step(s))
			}
			return s
		}, nil
	case n.Type == "Precompiled" && len(n.Map) == 0:
		return func(s string) string { return s }, nil
	case n.Type == "Precompiled":
		m, err := parseCharacterMap(n.Map)
		if err != nil {
			return nil, err
		}
		return m.apply, nil
	case n.Type == "NFC":
		return norm.NFC.String, nil
	case n.Type == "NFD":
		return norm.NFD.String, nil
	case n.Type == "NFKC":
		return norm.NFKC.String, nil
	case n.Type == "NFKD":
		return norm.NFKD.String, nil
	case n.Type == "Lowercase":
		return strings.ToLower, nil
	case n.Type == "Nmt":
		return func(s string) string { return strings.Map(nmt, s) }, nil
	case n.Type == "Strip":
		return func(s string) string {
			if n.Left {
				s = strings.TrimLeftFunc(s, unicode.IsSpace)
			}
			if n.Right {
				s = strings.TrimRightFunc(s, unicode.IsSpace)
			}
			return s
		}, nil
	case n.Type == "Replace" && n.Pattern.Regex == " {2,}" && len(n.Content) <= maxMappedTo:
		return func(s string) string { return replaceSpaces(s, n.Content) }, nil
	case n.Type == "Replace" && n.Pattern.String != "" && len(n.Content) <= len(n.Pattern.String):
		return func(s string) string { return strings.ReplaceAll(s, n.Pattern.String, n.Content) }, nil
	}
	return nil, fmt.Errorf("the step %q cannot run in-process; run the model on a model server instead", n.Type)
}

// cutNormalized truncates a step's result.
func cutNormalized(s string) string {
	if len(s) > maxNormalized {
		s = strings.ToValidUTF8(s[:maxNormalized], "")
	}
	return s
}

// nmt normalises control characters and unusual spaces, as translation models' tokenisers do. It returns -1 for
// characters to remove.
func nmt(r rune) rune {
	switch {
	case r == '\t', r == '\n', r == '\f', r == '\r', r == 0x1680, 0x200B <= r && r <= 0x200F,
		r == 0x2028, r == 0x2029, r == 0x2581, r == 0xFEFF, r == 0xFFFD:
		return ' '
	case 1 <= r && r < ' ', r == 0x7F, r == 0x8F, r == 0x9F:
		return -1
	}
	return r
}

// replaceSpaces replaces each run of two or more spaces with the given string.
func replaceSpaces(s, with string) string {
	if !strings.Contains(s, "  ") {
		return s
	}
	var out strings.Builder
	for s != "" && out.Len() <= maxNormalized {
		i := strings.Index(s, "  ")
		if i < 0 {
			break
		}
		out.WriteString(s[:i])
		out.WriteString(with)
		s = strings.TrimLeft(s[i:], " ")
	}
	out.WriteString(s)
	return out.String()
}

// characterMap is SentencePiece's table of character replacements: a double-array trie over the characters' bytes.
type characterMap struct {
	units  []uint32
	values string // each value ends in a zero byte
}

var errCharacterMap = errors.New("the precompiled_charsmap is damaged")

// parseCharacterMap parses the table: the trie's length in bytes, the trie, and the values.
func parseCharacterMap(data []byte) (*characterMap, error) {
	if len(data) < 8 {
		return nil, errCharacterMap
	}
	size := binary.LittleEndian.Uint32(data)
	data = data[4:]
	if size < 4 || size%4 != 0 || uint64(size) > uint64(len(data)) {
		return nil, errCharacterMap
	}
	m := &characterMap{units: make([]uint32, size/4), values: string(data[size:])}
	for i := range m.units {
		m.units[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	return m, nil
}

// Grapheme clusters of this many bytes or more are looked up one character at a time.
const maxMapped = 6

// Maximum length of a replacement in bytes. Longer ones are truncated.
const maxMappedTo = 1 << 10

// apply replaces the clusters and characters found in the table. As in the reference implementation, if a prefix of a
// cluster is in the table, the prefix's value replaces the whole cluster.
func (m *characterMap) apply(s string) string {
	var out strings.Builder
	out.Grow(len(s))
	for clusters := graphemes.FromString(s); out.Len() <= maxNormalized && clusters.Next(); {
		cluster := clusters.Value()
		if len(cluster) < maxMapped {
			if value, ok := m.find(cluster); ok {
				out.WriteString(value)
				continue
			}
		}
		for i, r := range cluster {
			character := cluster[i : i+utf8.RuneLen(r)]
			if value, ok := m.find(character); ok {
				character = value
			}
			out.WriteString(character)
		}
	}
	return out.String()
}

// find returns the replacement for `key` or for its shortest prefix in the table, or false if there is none.
func (m *characterMap) find(key string) (string, bool) {
	offset := func(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }
	at := offset(m.units[0])
	for i := range len(key) {
		if key[i] == 0 {
			return "", false
		}
		at ^= uint32(key[i])
		if int64(at) >= int64(len(m.units)) {
			return "", false
		}
		unit := m.units[at]
		if unit&(1<<31|0xff) != uint32(key[i]) {
			return "", false
		}
		at ^= offset(unit)
		if unit&(1<<8) == 0 {
			continue
		}
		if int64(at) >= int64(len(m.units)) {
			return "", false
		}
		value := m.units[at] &^ (1 << 31)
		if int64(value) >= int64(len(m.values)) {
			return "", false
		}
		text, _, _ := strings.Cut(m.values[value:min(int64(len(m.values)), int64(value)+maxMappedTo)], "\x00")
		return text, true
	}
	return "", false
}
