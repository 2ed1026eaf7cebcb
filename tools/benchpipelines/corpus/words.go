package corpus

import "strings"

// The most frequent English words, which are enough to identify the language. All other words are made up.
var common = strings.Fields("the of and to in is for that with was on by as at from it be are this which or an have not but " +
	"they their has been were its when if can will one all there more who may would into than other some these about only new also")

// word returns the n-th most common word.
func word(n uint64) string {
	if n < uint64(len(common)) {
		return common[n]
	}
	syllables := [...]string{"ta", "re", "mi", "lo", "sun", "ver", "den", "ka", "pol", "tri", "est", "no", "gar", "fin", "ble", "cor"}
	var b strings.Builder
	for n += 40; n > 0; n /= uint64(len(syllables)) {
		b.WriteString(syllables[n%uint64(len(syllables))])
	}
	return b.String()
}

func (a *author) word() string { return word(a.zipf.Uint64()) }

func (a *author) title() string {
	words := make([]string, 2+a.rng.IntN(5))
	for i := range words {
		words[i] = capital(a.word())
	}
	return strings.Join(words, " ")
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func (a *author) sentence() string {
	words := make([]string, 6+a.rng.IntN(20))
	for i := range words {
		words[i] = a.word()
	}
	words[0] = capital(words[0])
	if len(words) > 14 {
		words[len(words)/2] += ","
	}
	return strings.Join(words, " ") + "."
}

func (a *author) paragraph() string {
	sentences := make([]string, 2+a.rng.IntN(5))
	for i := range sentences {
		sentences[i] = a.sentence()
	}
	return strings.Join(sentences, " ")
}

// section is a part of a document.
type section struct {
	title      string
	paragraphs []string
	items      []string   // list items; often none
	table      [][]string // rows, including the header; often none
}

// sections returns sections with about the given total number of words.
func (a *author) sections(words int) []section {
	var out []section
	for written := 0; written < words; {
		s := section{title: a.title()}
		for range 2 + a.rng.IntN(4) {
			s.paragraphs = append(s.paragraphs, a.paragraph())
		}
		if a.rng.IntN(3) == 0 {
			for range 3 + a.rng.IntN(5) {
				s.items = append(s.items, a.sentence())
			}
		}
		if a.rng.IntN(4) == 0 {
			s.table = a.table(4+a.rng.IntN(8), 3+a.rng.IntN(3))
		}
		for _, text := range append(s.paragraphs, s.items...) {
			written += strings.Count(text, " ") + 1
		}
		for _, row := range s.table {
			written += len(row)
		}
		out = append(out, s)
	}
	return out
}

// table returns rows, with a header, names in the first column and figures in the others.
func (a *author) table(rows, columns int) [][]string {
	out := make([][]string, rows+1)
	for i := range out {
		row := make([]string, columns)
		for j := range row {
			switch {
			case i == 0:
				row[j] = capital(a.word())
			case j == 0:
				row[j] = capital(a.word()) + " " + a.word()
			default:
				row[j] = figure(a.rng.IntN(1_000_000))
			}
		}
		out[i] = row
	}
	return out
}
