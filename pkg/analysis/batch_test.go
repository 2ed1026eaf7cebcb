package analysis

import (
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
)

// naiveCounts is a simple reference implementation of Batch.Count.
func naiveCounts(parts []Part) (Language, uint32, map[string]uint32) {
	lang, length, counts := Detect(parts[0].Text), uint32(0), map[string]uint32{}
	for _, p := range parts {
		for _, t := range Terms(p.Text, lang) {
			counts[t] += p.Weight
			length += p.Weight
		}
	}
	return lang, length, counts
}

func checkBatch(t *testing.T, b *Batch, parts ...Part) {
	t.Helper()
	wantLang, wantLength, want := naiveCounts(parts)
	lang, length, terms := b.Count(parts...)
	got := map[string]uint32{}
	for _, c := range terms {
		name := b.Terms()[c.Term]
		if got[name] != 0 {
			t.Errorf("%+v: the term %q comes twice", parts, name)
		}
		got[name] = c.Count
	}
	if lang != wantLang || length != wantLength || !maps.Equal(got, want) {
		t.Errorf("%+v: counted %q, %d, %v, one by one %q, %d, %v", parts, lang, length, got, wantLang, wantLength, want)
	}
}

var mixedTexts = []string{
	"", "...", "a", "The quick brown fox jumps over the lazy dogs, and the dog barked.",
	"Der schnelle braune Fuchs springt über den faulen Hund, und der Hund bellte die ganze Nacht.",
	"Le renard brun saute par-dessus le chien paresseux ; c’est l’été à l’école.",
	"AX-200 v1.2.3 192.168.0.1 1,000,000 snake_case_name fooBar HTMLParser state-of-the-art PDFs 10/12/2020 e.g. U.S.A.",
	"x" + strings.Repeat("verylongword", 20) + " end", "naïve café résumé İstanbul straße ﬁne ＡＢＣ ½ ①",
	"کتاب\u200cخانه و می\u200cرود", "get\u200buser\u200bname a\u200b-b", "Hà Nội là thủ đô của nước Việt Nam và là một thành phố lớn", "東京タワーは高い。 한국어 문장입니다 ภาษาไทย Привет, мир и люди", "soft\u00adhyphen zero\u200bwidth a\u0301ccent", "bad \xff\xfe bytes \xe2\x82",
	"name: value; Price: 12.50; Tarebleloden: 443.20", "123 456 7890", "The THE the tHe Running RUNNING running runs",
	"joined.by.points and-by-hyphens one,two 3,400 3,40 a-1-b_2/3", "café-AX 200-café word\u2010word ascii\u0301 mark",
}

func TestABatchCountsTheTermsOfTerms(t *testing.T) {
	t.Parallel()
	a := Borrow()
	defer a.Return()
	for range 2 { // the second round finds all words in the cache
		b := a.Batch()
		for _, context := range []string{"", "The Running Titles", "Übersicht der Läufe"} { // heading shared by consecutive rows
			for _, text := range mixedTexts {
				checkBatch(t, b, Part{text, 1}, Part{context, 3})
			}
		}
	}
}

func TestABatchCountsTheTermsOfTermsForAllTexts(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	pieces := strings.Fields("the of and running Runs fooBar AX200 1,000 12 3.4 und der die nicht le la les est é ü ß İ 東京 한국 ไทย Привет ١٢ ½ … ’ “ \u00ad \u200b \u0301 \xff _ - . , / ' ( )")
	a := new(Analyzer)
	for range 60 {
		b := a.Batch()
		for range 20 {
			text := func() string {
				var s strings.Builder
				for range rng.IntN(40) {
					s.WriteString(pieces[rng.IntN(len(pieces))])
					if rng.IntN(3) > 0 {
						s.WriteByte(" \n-._,/"[rng.IntN(7)])
					}
				}
				return s.String()
			}
			checkBatch(t, b, Part{text(), 1}, Part{text(), 2})
		}
	}
}

func TestABatchNumbersNamesAndTerms(t *testing.T) {
	t.Parallel()
	b := new(Analyzer).Batch()
	first := b.Name("\x01d=one")
	checkBatch(t, b, Part{"one two one", 1})
	if again := b.Name("\x01d=one"); again != first || b.Terms()[first] != "\x01d=one" || len(b.Terms()) != 3 {
		t.Errorf("numbered %d and %d of %q", first, again, b.Terms())
	}
}

func TestABatchBoundsTheTermsOfAPart(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("Words and x-1 ", MaxTerms/4)
	checkBatch(t, new(Analyzer).Batch(), Part{long, 1}, Part{"more words", 1})
}

func TestTheCacheOfAnAnalyzerIsBounded(t *testing.T) {
	t.Parallel()
	a := new(Analyzer)
	var s strings.Builder
	for n := range maxNumbered + 1 {
		s.WriteString("w")
		for ; n > 0; n /= 16 {
			s.WriteByte("bcdfghjklmnpqrtv"[n%16])
		}
		s.WriteByte(' ')
	}
	checkBatch(t, a.Batch(), Part{"wb", 1}, Part{s.String(), 1}) // the second text contains wb, too
	checkBatch(t, a.Batch(), Part{"the words wb wc", 1})
	if len(a.terms) > 8 || a.words.count > 8 {
		t.Errorf("%d terms and %d words are known", len(a.terms), a.words.count)
	}
}

func FuzzABatchCountsTheTermsOfTerms(f *testing.F) {
	for _, text := range mixedTexts {
		f.Add(text, "The Context")
	}
	f.Fuzz(func(t *testing.T, text, context string) {
		a := new(Analyzer)
		for range 2 {
			checkBatch(t, a.Batch(), Part{text, 1}, Part{context, 3})
		}
	})
}
