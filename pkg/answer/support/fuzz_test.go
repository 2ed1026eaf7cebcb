package support

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/domain"
)

// hostile contains texts that could make the comparison slow.
var hostile = map[string]string{
	"one word":        strings.Repeat("word ", 50_000),
	"one figure":      strings.Repeat("1,500 ", 40_000),
	"digits":          strings.Repeat("7", 200_000),
	"separated":       strings.Repeat("1.", 100_000),
	"full stops":      strings.Repeat(". ", 100_000),
	"marks":           strings.Repeat("[1]", 70_000),
	"brackets":        strings.Repeat("[", 200_000),
	"fences":          strings.Repeat("```\n", 50_000),
	"pipes":           strings.Repeat("|", 200_000),
	"dashes":          strings.Repeat("|-", 100_000),
	"lines":           strings.Repeat("\n", 200_000),
	"short sentences": strings.Repeat("It is 5. ", 25_000),
	"one character":   strings.Repeat("不", 70_000),
	"two characters":  strings.Repeat("保証", 35_000),
	"katakana":        strings.Repeat("ア", 70_000),
	"letters":         strings.Repeat("a", 200_000),
	"combining":       strings.Repeat("e\u0301", 70_000),
	"capitals":        strings.Repeat("Aa Bb Cc ", 22_000),
	"unequal":         strings.Repeat("ab", 50_000) + strings.Repeat("ba", 50_000),
}

// TestHostileTextIsJudged uses answers and sources in which everything resembles everything else. If judging one of
// them took quadratic time, the test would take minutes.
func TestHostileTextIsJudged(t *testing.T) {
	if testing.Short() {
		t.Skip("it involves no goroutines")
	}
	t.Parallel()
	for name, text := range hostile {
		sources := make([]domain.Fragment, 10)
		for i := range sources {
			sources[i] = domain.Fragment{Text: text[:min(len(text), domain.MaxChunkBytes)], Citation: i + 1}
		}
		result := Judge(text, sources)
		if len(result.Sentences) > MaxSentences {
			t.Errorf("%s: %d sentences", name, len(result.Sentences))
		}
		gate := NewGate(sources)
		for range 3 {
			gate.Write(text[:len(text)/4])
		}
		gate.Close()
	}
}

func FuzzJudge(f *testing.F) {
	f.Add("The pump has a warranty of 9 years [1]. - item [2]\n\n```\ncode", manual, 3)
	f.Add("保証は七年です。[1]霜害は対象外です。", "保証期間は七年です。", 1)
	f.Add("| a | 1,500 |\n|--|--|\n| b | 2 |", "a\t1.500\nb\t2", 7)
	f.Add("5\xff1 [1]", "\xff5", 1)
	f.Add("証\xe4", "保証期間は七年です。", 1)
	f.Fuzz(func(t *testing.T, answer, text string, size int) {
		sources := []domain.Fragment{{Text: text, Citation: 1, Runs: domain.TextRuns{{Document: 7, Length: len(text)}}}, {Text: answer, Citation: 2}}
		result := Judge(answer, sources)
		end := 0
		for _, s := range result.Sentences {
			if s.Start < end || s.End < s.Start || s.End > len(answer) {
				t.Fatalf("a sentence is at %d to %d of %q, after one that ends at %d", s.Start, s.End, answer, end)
			}
			end = s.End
			if s.Support != nil && (*s.Support < 0 || *s.Support > 1) {
				t.Fatalf("the support is %f", *s.Support)
			}
			for _, v := range s.Spans {
				if got := sources[v.Source].Text[v.In.Start:v.In.End]; got == "" || v.Text != got || v.Source == 0 && v.Original.Start != v.In.Start+7 {
					t.Fatalf("the span %+v has %q", v, got)
				}
				if utf8.ValidString(sources[v.Source].Text) && !utf8.ValidString(v.Text) {
					t.Fatalf("the span %+v cuts a character", v)
				}
			}
		}
		size = min(max(size, 1), 1000)
		gate := NewGate(sources)
		passed := 0
		for rest := answer; rest != ""; rest = rest[min(size, len(rest)):] {
			passed += len(gate.Write(rest[:min(size, len(rest))]))
		}
		if passed += len(gate.Close()); passed > len(answer) {
			t.Fatalf("%d of %d bytes are passed on", passed, len(answer))
		}
	})
}

// BenchmarkJudge judges an answer of eight sentences from five sources.
func BenchmarkJudge(b *testing.B) {
	answer := strings.Repeat("The Aurora X2 costs 1500 euros [1]. Damage by frost is not covered [2]. Lena Berg repairs the pump. It has a guarantee of 9 years [3].\n\n", 2)
	sources := make([]domain.Fragment, 5)
	for i := range sources {
		sources[i] = domain.Fragment{Text: strings.Repeat(manual+" Another pump weighs 40 kg and runs at 50 Hz.\n\n", 3), Citation: i + 1}
	}
	for b.Loop() {
		Judge(answer, sources)
	}
}

// BenchmarkGate passes the same answer through a gate, a few bytes at a time.
func BenchmarkGate(b *testing.B) {
	answer := strings.Repeat("The Aurora X2 costs 1500 euros [1]. Damage by frost is not covered [2]. Lena Berg repairs the pump. ", 4)
	sources := []domain.Fragment{{Text: manual}, {Text: manual}}
	for b.Loop() {
		g := NewGate(sources)
		for i := 0; i < len(answer); i += 4 {
			g.Write(answer[i:min(i+4, len(answer))])
		}
		g.Close()
	}
}
