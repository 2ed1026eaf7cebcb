package transformer

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// tinyCharacterMap returns a table that maps "a" to "A", the decomposed "é" (two characters) to the composed one, and
// "z" to nothing.
func tinyCharacterMap() []byte {
	const values = "A\x00é\x00\x00"
	leaf := func(value uint32) uint32 { return value | 1<<31 }
	units := make([]uint32, 1024)
	place := func(at, label, offset uint32, ends bool) { // adds a node of the trie
		units[at] = label | offset<<10
		if ends {
			units[at] |= 1 << 8
		}
	}
	units[0] = 256 << 10 // the root's children are around index 256
	place(256^'a', 'a', (256^'a')^512, true)
	units[512] = leaf(0)
	place(256^'z', 'z', (256^'z')^513, true)
	units[513] = leaf(5)
	place(256^'e', 'e', (256^'e')^600, false) // followed by U+0301, which is CC 81
	place(600^0xCC, 0xCC, (600^0xCC)^300, false)
	place(300^0x81, 0x81, (300^0x81)^514, true)
	units[514] = leaf(2)
	data := binary.LittleEndian.AppendUint32(nil, uint32(4*len(units)))
	for _, unit := range units {
		data = binary.LittleEndian.AppendUint32(data, unit)
	}
	return append(data, values...)
}

func TestNormalizers(t *testing.T) {
	t.Parallel()
	table := base64.StdEncoding.EncodeToString(tinyCharacterMap())
	for name, c := range map[string]struct{ raw, text, want string }{
		"none":                          {`null`, " a ", " a "},
		"a table of characters":         {`{"type":"Precompiled","precompiled_charsmap":"` + table + `"}`, "banal e\u0301 e zoo", "bAnAl é e oo"},
		"an empty table":                {`{"type":"Precompiled","precompiled_charsmap":""}`, "ﬁ", "ﬁ"},
		"composition":                   {`{"type":"NFC"}`, "e\u0301", "é"},
		"decomposition":                 {`{"type":"NFD"}`, "é", "e\u0301"},
		"compatible composition":        {`{"type":"NFKC"}`, "ﬁ②", "fi2"},
		"compatible decomposition":      {`{"type":"NFKD"}`, "ﬁé", "fie\u0301"},
		"lower case":                    {`{"type":"Lowercase"}`, "AbÇ", "abç"},
		"control characters":            {`{"type":"Nmt"}`, "a\tb\x01c\u200bd", "a bc d"},
		"spaces at the ends":            {`{"type":"Strip","strip_left":true,"strip_right":true}`, " a b\n", "a b"},
		"spaces at the beginning":       {`{"type":"Strip","strip_left":true}`, " a ", "a "},
		"several spaces":                {`{"type":"Replace","pattern":{"Regex":" {2,}"},"content":"_"}`, "a b  c   d ", "a b_c_d "},
		"a string":                      {`{"type":"Replace","pattern":{"String":"''"},"content":"\""}`, "''a'' 'b'", `"a" 'b'`},
		"one after the other":           {`{"type":"Sequence","normalizers":[{"type":"NFD"},{"type":"NFKC"},{"type":"Lowercase"}]}`, "É", "é"},
		"a table in a sequence of none": {`{"type":"Sequence","normalizers":[]}`, "a", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			apply, err := parseNormalizer(json.RawMessage(c.raw), 0)
			if err != nil {
				t.Fatal(err)
			}
			if got := apply(c.text); got != c.want {
				t.Errorf("%q becomes %q, want %q", c.text, got, c.want)
			}
		})
	}
}

func TestUnsupportedNormalizersAreRefused(t *testing.T) {
	t.Parallel()
	deep := `{"type":"NFC"}`
	for range 10 {
		deep = fmt.Sprintf(`{"type":"Sequence","normalizers":[%s]}`, deep)
	}
	for name, raw := range map[string]string{
		"an unknown step":          `{"type":"BertNormalizer"}`,
		"any regular expression":   `{"type":"Replace","pattern":{"Regex":"(a+)+$"},"content":""}`,
		"text that grows":          `{"type":"Replace","pattern":{"String":"a"},"content":"aaaaaaaaaaaaaaaa"}`,
		"steps in steps in steps":  deep,
		"many steps":               `{"type":"Sequence","normalizers":[` + strings.Repeat(`{"type":"NFC"},`, maxSteps) + `{"type":"NFC"}]}`,
		"spaces that grow":         `{"type":"Replace","pattern":{"Regex":" {2,}"},"content":"` + strings.Repeat("a", maxMappedTo+1) + `"}`,
		"a damaged table":          `{"type":"Precompiled","precompiled_charsmap":"AAAA"}`,
		"a table longer than told": `{"type":"Precompiled","precompiled_charsmap":"` + base64.StdEncoding.EncodeToString([]byte{0xff, 0xff, 0, 0, 1, 2, 3, 4}) + `"}`,
	} {
		if _, err := parseNormalizer(json.RawMessage(raw), 0); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestTheOutputOfNormalizersIsBounded(t *testing.T) {
	t.Parallel()
	table := tinyCharacterMap()
	size := 4 + binary.LittleEndian.Uint32(table)
	long := append(table[:size:size], strings.Repeat("a", 1<<20)...) // replaces the values of "a" and "z" with a very long one
	text := strings.Repeat("a", 16<<10)
	spaces := `{"type":"Replace","pattern":{"Regex":" {2,}"},"content":"` + strings.Repeat("a  ", maxMappedTo/3) + `"}`
	for name, c := range map[string]struct{ raw, text string }{
		"a table":                   {`{"type":"Precompiled","precompiled_charsmap":"` + base64.StdEncoding.EncodeToString(long) + `"}`, text},
		"spaces again and again":    {`{"type":"Sequence","normalizers":[` + strings.Repeat(spaces+",", maxSteps-1) + spaces + `]}`, "a  a"},
		"longer forms of all signs": {`{"type":"Sequence","normalizers":[{"type":"NFKD"},{"type":"NFKD"}]}`, strings.Repeat("\uFDFA", 100<<10)},
	} {
		apply, err := parseNormalizer(json.RawMessage(c.raw), 0)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if n := len(apply(c.text)); n < maxNormalized/2 || n > maxNormalized+2*maxMappedTo {
			t.Errorf("%s: %d bytes become %d", name, len(c.text), n)
		}
	}
}
