package extracttest

import (
	"archive/zip"
	"bytes"
	"fmt"
	"maps"
	"testing"
)

var everything = Damage{Seed: 1, Truncations: 10, Flips: 3, Numbers: 3, Inside: 12}

func packed(t *testing.T) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for i := range 3 {
		w, err := z.Create(fmt.Sprintf("part%d.xml", i))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(bytes.Repeat([]byte("<row r='17'>some words</row>"), 100)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func withStream() []byte {
	content := bytes.Repeat([]byte("BT /F1 12 Tf (some words) Tj ET 72 700 Td\n"), 50)
	return fmt.Appendf(nil, "%%PDF-1.4\n1 0 obj\n<< /Filter /FlateDecode >>\nstream\n%s\nendstream\nendobj\n%%%%EOF", deflate(content))
}

func collect(d Damage, data []byte) map[string]string {
	cases := map[string]string{}
	for what, damaged := range d.Cases("a", data) {
		cases[what] = string(damaged)
	}
	return cases
}

func TestTheSameSeedDoesTheSameDamage(t *testing.T) {
	t.Parallel()
	data := packed(t)
	once := collect(everything, data)
	if again := collect(everything, data); !maps.Equal(once, again) {
		t.Error("the same damage differs")
	}
	other := everything
	other.Seed = 2
	if maps.Equal(once, collect(other, data)) {
		t.Error("another seed does the same damage")
	}
}

func TestEveryKindOfDamageIsDone(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		data   []byte
		inside bool
	}{
		"a zip file":          {packed(t), true},
		"a PDF":               {withStream(), true},
		"text":                {bytes.Repeat([]byte("42 words "), 1000), false},
		"a file of one byte":  {[]byte("x"), false},
		"a file of no length": {nil, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := bytes.Clone(tt.data)
			cases := collect(everything, tt.data)
			if !bytes.Equal(before, tt.data) {
				t.Fatal("the document itself is damaged")
			}
			if cases["whole"] != string(tt.data) {
				t.Error("the whole document is not among the cases")
			}
			if got := cases["cut at 5/10"]; got != string(tt.data[:len(tt.data)/2]) {
				t.Errorf("the document cut in half has %d bytes of %d", len(got), len(tt.data))
			}
			if _, ok := cases["one byte in 1000 changed, round 1"]; !ok {
				t.Error("no bytes are changed")
			}
			changed := 0
			for what, got := range cases {
				if bytes.HasPrefix([]byte(what), []byte("changed inside")) && got != string(tt.data) {
					changed++
				}
			}
			if tt.inside != (changed > 0) {
				t.Errorf("%d copies are changed inside", changed)
			}
		})
	}
}
