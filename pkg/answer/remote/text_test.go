package remote

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// said decodes one event per content and returns the joined text.
func said(t *testing.T, contents ...string) string {
	t.Helper()
	var joined Joiner
	var out strings.Builder
	for _, content := range contents {
		var event struct {
			Content Text `json:"content"`
		}
		if err := json.Unmarshal([]byte(`{"content":`+content+`}`), &event); err != nil {
			t.Fatalf("%s: %v", content, err)
		}
		piece := joined.Next(event.Content)
		if !utf8.ValidString(piece) {
			t.Errorf("%q is no UTF-8", piece)
		}
		out.WriteString(piece)
	}
	return out.String() + joined.Close()
}

func TestACharacterMayBeSplitBetweenEvents(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		contents []string
		want     string
	}{
		"plain texts":                       {[]string{`"a"`, `""`, `"b\n\"c\""`, `null`}, "ab\n\"c\""},
		"a surrogate pair in one":           {[]string{`"\ud83d\ude00 a"`}, "😀 a"},
		"a surrogate pair in two":           {[]string{`"a \ud83d"`, `"\uDE00 b"`}, "a 😀 b"},
		"with an empty text between":        {[]string{`"\uD83D"`, `""`, `null`, `"\ude00"`}, "😀"},
		"two pairs":                         {[]string{`"\ud83d"`, `"\ude00\ud83d"`, `"\ude01"`}, "😀😁"},
		"a first half that nothing follows": {[]string{`"a\ud83d"`}, "a\ufffd"},
		"a first half before other text":    {[]string{`"\ud83d"`, `"b"`}, "\ufffdb"},
		"a second half alone":               {[]string{`"\ude00b"`}, "\ufffdb"},
		"two first halves":                  {[]string{`"\ud83d"`, `"\ud83d"`, `"\ude00"`}, "\ufffd😀"},
		"an escaped backslash before it":    {[]string{`"\\ud83d"`, `"\ude00"`}, `\ud83d` + "\ufffd"},
		"two escaped backslashes before it": {[]string{`"\\\\\ud83d"`, `"\ude00"`}, `\\😀`},
		"bytes of UTF-8":                    {[]string{"\"gr\xc3\"", "\"\xb6\xc3\x9fe \xe6\x97\"", "\"\xa5\""}, "größe 日"},
		"three bytes before the fourth":     {[]string{"\"\xf0\x9f\x98\"", "\"\x80\""}, "😀"},
		"bytes that never become a letter":  {[]string{"\"7 \xff\xfe a\xc3\"", "\"b\""}, "7 \ufffd\ufffd a\ufffdb"},
		"parts":                             {[]string{`[{"type":"text","text":"a "},{"type":"text","text":"b"}]`, `"c"`, `[]`}, "a bc"},
		"a character between parts":         {[]string{`[{"type":"text","text":"\ud83d"},{"type":"text","text":"\ude00"}]`}, "😀"},
		"parts of other kinds":              {[]string{`[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"output_text","text":"a"},{"type":"reference","reference_ids":[1]},{"type":"refusal","refusal":" b"}]`}, "a b"},
		"parts that are texts":              {[]string{`["a","b",null]`}, "ab"},
	} {
		if got := said(t, test.contents...); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestANumberIsNoText(t *testing.T) {
	t.Parallel()
	for _, content := range []string{`7`, `true`, `{"text":"a"}`, `[7]`, `[{"text":7}]`} {
		var text Text
		err := json.Unmarshal([]byte(content), &text)
		if !isInvalidJSON(err) {
			t.Errorf("%s: %v", content, err)
		}
	}
}

// FuzzJoiner splits text at any byte, with its characters encoded both as UTF-8 and as escapes.
func FuzzJoiner(f *testing.F) {
	f.Add("größe 日本 😀 \\ud83d", uint8(3))
	f.Fuzz(func(t *testing.T, text string, at uint8) {
		text = strings.ToValidUTF8(text, "")
		encoded, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		inside := encoded[1 : len(encoded)-1]
		cut := min(int(at), len(inside))
		for i := max(0, cut-6); i < cut; i++ { // do not split an escape
			if inside[i] == '\\' {
				return
			}
		}
		var joined Joiner
		got := joined.Next(Text{encoded: inside[:cut]}) + joined.Next(Text{encoded: inside[cut:]}) + joined.Close()
		if got != text {
			t.Errorf("%q cut at %d is %q", text, cut, got)
		}
	})
}
