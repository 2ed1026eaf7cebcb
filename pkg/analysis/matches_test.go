package analysis

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestMatches(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ query, text, want string }{
		"inflected words, not function words":   {"the pumping valve", "The valves of a pump, and the tank.", "valves|pump"},
		"a part number":                         {"AX200", "The AX-200 and the AX-300.", "AX-200|AX"},
		"an identifier by its part":             {"conns", "We set maxOpenConns to 5.", "maxOpenConns"},
		"compatibility forms and invisible":     {"database", "The ｄａｔａｂａｓｅ and the data\u00adbase.", "ｄａｔａｂａｓｅ|data\u00adbase"},
		"Japanese words, not single characters": {"京都", "私は京都に行く、東京都には行かない。京と都。", "京都|京都"},
		"a single character":                    {"犬", "犬が好きです。猫も。", "犬"},
		"a Persian word in a compound":          {"خانه", "این کتاب\u200cخانه است که", "کتاب\u200cخانه"},
		"Vietnamese without marks":              {"ha noi", "Hà Nội là thủ đô của nước Việt Nam và là một thành phố", "Hà|Nội"},
		"nothing":                               {"tank", "The pump.", ""},
		"emoji beside a word":                   {"pump", "🙂pump🙂", "pump"},
	} {
		lang := Detect(c.text)
		var got []string
		for _, m := range Matches(c.text, lang, Query(c.query, []Language{lang}), 10) {
			got = append(got, c.text[m.Start:m.End])
		}
		if all := strings.Join(got, "|"); all != c.want {
			t.Errorf("%s: %q in %q matches %q, want %q", name, c.query, c.text, all, c.want)
		}
	}
	if got := Matches(strings.Repeat("pump. ", 50), English, Query("pump", nil), 7); len(got) != 7 {
		t.Errorf("%d matches, want 7", len(got))
	}
}

func FuzzMatches(f *testing.F) {
	for _, s := range seeds {
		f.Add("houses 東京 AX200", s)
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, query, text string) {
		end := 0
		for _, m := range Matches(text, Detect(text), Query(query, nil), 20) {
			if m.Start < end || m.End <= m.Start || m.End > len(text) {
				t.Fatalf("match %+v of %q after %d", m, text, end)
			}
			if utf8.ValidString(text) && !utf8.ValidString(text[m.Start:m.End]) {
				t.Fatalf("match %+v of %q splits a character", m, text)
			}
			end = m.End
		}
	})
}
