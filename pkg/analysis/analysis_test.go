package analysis

import (
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestTerms(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		lang Language
		want []string
	}{
		"English words are stemmed and lower-cased":              {"The Houses were building", English, []string{"the", "hous", "were", "build"}},
		"a part number is found whole and in parts":              {"AX-200", English, []string{"ax", "200", "ax200"}},
		"a part number without hyphen yields the same terms":     {"AX200", English, []string{"ax200", "ax", "200"}},
		"snake case is found whole and in parts":                 {"max_open_conns", English, []string{"max", "open", "conn", "maxopenconn"}},
		"camel case is found whole and in parts":                 {"maxOpenConns", English, []string{"maxopenconn", "max", "open", "conn"}},
		"an acronym before a word is a part":                     {"HTMLParser", English, []string{"htmlparser", "html", "parser"}},
		"a decimal number is found whole":                        {"3.14", English, []string{"3", "14", "3.14"}},
		"thousands are found without comma":                      {"1,000", English, []string{"1", "000", "1000"}},
		"a version is found without its v":                       {"v1.2.3", English, []string{"v1", "2", "3", "1.2.3"}},
		"a hyphenated pair is found as one word":                 {"e-mail", English, []string{"e", "mail", "email"}},
		"a phrase with hyphens is not one word":                  {"state-of-the-art", English, []string{"state", "of", "the", "art"}},
		"Latin diacritics are folded after stemming":             {"Häuser", "de", []string{"haus"}},
		"Vietnamese words are found with and without marks":      {"Hà Nội", Vietnamese, []string{"hà", "~ha", "nội", "~noi"}},
		"compatibility forms are the plain ones":                 {"ＡＸ ﬁne", Unknown, []string{"ax", "fine"}},
		"Han yields characters and pairs":                        {"東京都", "zh", []string{"東", "京", "東京", "都", "京都"}},
		"a kana length mark belongs to the run":                  {"サーバ", "ja", []string{"サ", "ー", "サー", "バ", "ーバ"}},
		"Thai vowels stay with their consonant":                  {"ที่นี่", "th", []string{"ที่", "นี่", "ที่นี่"}},
		"marks of Indic scripts belong to the word":              {"किताबें", "hi", []string{"किताबें"}},
		"Arabic vowel points are dropped":                        {"رَجُل", Unknown, []string{"رجل"}},
		"a soft hyphen does not part a word":                     {"data\u00adbase", Unknown, []string{"database"}},
		"Romanian letters with comma and with cedilla are equal": {"însoțește", "ro", Terms("însoţeşte", "ro")},
		"emoji and punctuation yield nothing":                    {"🙂 … —!", English, nil},
		"Cyrillic ё is е":                                        {"ёлка", Unknown, []string{"елка"}},
		"й keeps its breve":                                      {"йод", Unknown, []string{"йод"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Terms(c.text, c.lang)
			if len(got) == 0 {
				got = nil
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Terms(%q, %q) (-want +got):\n%s", c.text, c.lang, diff)
			}
		})
	}
}

func TestTermsAreBounded(t *testing.T) {
	t.Parallel()
	if got := Terms(strings.Repeat("x", 10_000), English); len(got) != 1 || utf8.RuneCountInString(got[0]) != MaxTermRunes {
		t.Errorf("a long word became %d terms, the first of %d characters", len(got), utf8.RuneCountInString(got[0]))
	}
	if got := Terms(strings.Repeat("a ", MaxTerms+10), English); len(got) != MaxTerms {
		t.Errorf("a text of %d words became %d terms", MaxTerms+10, len(got))
	}
	var b strings.Builder
	for i := range 3 * MaxQueryTerms {
		b.WriteString(" w")
		b.WriteString(strings.Repeat("x", i%60))
		b.WriteString(string(rune('a' + i%26)))
		b.WriteString(string(rune('a' + i/26%26)))
	}
	if got := Query(b.String(), nil); len(got) > MaxQueryTerms {
		t.Errorf("a long query became %d terms", len(got))
	}
}

func TestDetect(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want Language
	}{
		"English":                         {"The quick brown fox jumps over the lazy dog and runs away from it.", English},
		"German":                          {"Der schnelle braune Fuchs springt über den faulen Hund und läuft davon.", "de"},
		"French":                          {"Le renard brun saute par-dessus le chien paresseux et il part dans la forêt.", "fr"},
		"Spanish":                         {"El zorro marrón salta sobre el perro perezoso y se va por el bosque.", "es"},
		"Russian":                         {"Быстрая лиса прыгает через ленивую собаку и убегает в лес.", "ru"},
		"Ukrainian":                       {"Швидка лисиця стрибає через ледачого собаку і тікає до лісу, що був поруч.", "uk"},
		"Arabic":                          {"الثعلب البني السريع يقفز فوق الكلب الكسول في الغابة", "ar"},
		"Persian":                         {"این یک متن فارسی است که برای آزمایش نوشته شده است", "fa"},
		"Greek":                           {"Η γρήγορη αλεπού πηδά πάνω από το τεμπέλικο σκυλί", Greek},
		"Japanese despite many Han":       {"東京都は日本の首都である", "ja"},
		"Chinese":                         {"北京是中国的首都", "zh"},
		"Korean":                          {"서울은 대한민국의 수도이다", "ko"},
		"Hindi":                           {"दिल्ली भारत की राजधानी है", "hi"},
		"Vietnamese":                      {"Hà Nội là thủ đô của nước Việt Nam và là một thành phố lớn", Vietnamese},
		"an identifier counts as English": {"getUserName", English},
		"digits alone are unknown":        {"12345 678", Unknown},
		"nothing is unknown":              {"", Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Detect(c.text); got != c.want {
				t.Errorf("Detect(%q) = %q, want %q", c.text, got, c.want)
			}
		})
	}
}

// matches reports whether a document, analysed in its detected language, contains a form of every query term.
func matches(query, doc string, langs []Language) bool {
	terms := Terms(doc, Detect(doc))
	for _, q := range Query(query, langs) {
		if !slices.ContainsFunc(q.Forms, func(f string) bool { return slices.Contains(terms, f) }) {
			return false
		}
	}
	return true
}

func TestQueryFindsDocumentsOfAnotherDetectedLanguage(t *testing.T) {
	t.Parallel()
	german := "Die Verträge der Häuser wurden von den Mietern und dem Vermieter unterschrieben."
	english := "The contracts of the houses were signed by the tenants and their landlord."
	space := []Language{English, "de"}
	for name, c := range map[string]struct {
		query, doc string
		want       bool
	}{
		"an inflected English word in a mixed space":              {"signing contract", english, true},
		"an inflected German word in a mixed space":               {"Vertrag", "Vertrag " + german, true},
		"a German plural by its stem":                             {"Haus", german, true},
		"a German word without its umlaut":                        {"Hauser", german, true},
		"a word that is not there":                                {"Kündigung", german, false},
		"a query of only function words keeps them":               {"the of", english, true},
		"a part number written apart finds the one in one":        {"AX 200", "The AX200 and AX-200 are here.", true},
		"a part number in one finds the hyphenated one":           {"AX200", "The AX-200 is here.", true},
		"an identifier's part finds it":                           {"conns", "We set maxOpenConns to 5.", true},
		"snake case finds camel case":                             {"max_open_conns", "We set maxOpenConns to 5.", true},
		"a Japanese word inside a run":                            {"京都", "私は京都に行く", true},
		"a Vietnamese word in its own spelling":                   {"Hà Nội", "Hà Nội là thủ đô của nước Việt Nam và là một thành phố lớn", true},
		"a function word of English is dropped from a question":   {"what are the contracts", english, true},
		"a number with thousands comma is found by the plain one": {"12000", "It costs 12,000 in the shop.", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := matches(c.query, c.doc, append(space, Vietnamese, "ja")); got != c.want {
				t.Errorf("query %q → %v, document %v: match %v, want %v",
					c.query, Query(c.query, space), Terms(c.doc, Detect(c.doc)), got, c.want)
			}
		})
	}
}

func TestStopWordsAreThoseOfTheQuerysLanguage(t *testing.T) {
	t.Parallel()
	names := func(q []QueryTerm) (out []string) {
		for _, t := range q {
			out = append(out, t.Name)
		}
		return out
	}
	if got, want := names(Query("What is the die casting process?", []Language{English, "de"})), []string{"die", "cast", "process"}; !slices.Equal(got, want) {
		t.Errorf("English query kept %v, want %v", got, want)
	}
	if got, want := names(Query("Was ist die Hauptstadt?", []Language{English, "de"})), []string{"hauptstadt"}; !slices.Equal(got, want) {
		t.Errorf("German query kept %v, want %v", got, want)
	}
}

func TestFunctionWordsAreThoseOfALanguage(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		word string
		lang Language
		want bool
	}{{"ihn", "de", true}, {"urlaub", "de", false}, {"the", English, true}, {"the", "de", false}, {"the", Unknown, false}} {
		if got := IsFunctionWord(test.word, test.lang); got != test.want {
			t.Errorf("%q of %q: %v", test.word, test.lang, got)
		}
	}
}

func TestSentences(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"full stops and question marks":          {"One is here. Is two? Yes!", []string{"One is here.", "Is two?", "Yes!"}},
		"a German date does not end one":         {"Er verfällt am 31. März des Jahres. Bis zum 3. Oktober gilt er.", []string{"Er verfällt am 31. März des Jahres.", "Bis zum 3. Oktober gilt er."}},
		"a German ordinal does not end one":      {"Sie stammt aus dem 19. Jahrhundert. Es waren 12. Danach kam der Krieg.", []string{"Sie stammt aus dem 19. Jahrhundert.", "Es waren 12.", "Danach kam der Krieg."}},
		"a number may end one":                   {"The answer is 42. This is known. In 1931. March came.", []string{"The answer is 42.", "This is known.", "In 1931.", "March came."}},
		"the number of an item does not end one": {"4. Method … 7\n5. Results … 9\n5.1. More", []string{"4. Method … 7", "5. Results … 9", "5.1. More"}},
		"an abbreviation does not end one":       {"Dr. Smith met Mr. Jones. They spoke.", []string{"Dr. Smith met Mr. Jones.", "They spoke."}},
		"an initial does not end one":            {"J. Smith wrote it. We read it.", []string{"J. Smith wrote it.", "We read it."}},
		"a decimal point does not end one":       {"It weighs 3.14 kg. Good.", []string{"It weighs 3.14 kg.", "Good."}},
		"Chinese stops without spaces":           {"今天天气好。我们去公园吧！好吗？", []string{"今天天气好。", "我们去公园吧！", "好吗？"}},
		"a blank line ends one without a stop":   {"A heading\n\nThe text.", []string{"A heading", "The text."}},
		"an abbreviation at a paragraph's end":   {"See Fig.\n\nNext one.", []string{"See Fig.", "Next one."}},
		"white space only":                       {" \n\t ", nil},
		"Hindi danda":                            {"यह एक है। वह दो है।", []string{"यह एक है।", "वह दो है।"}},
		"no stop at all":                         {"just words", []string{"just words"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, s := range Sentences(c.text) {
				got = append(got, c.text[s.Start:s.End])
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Sentences(%q) (-want +got):\n%s", c.text, diff)
			}
		})
	}
}

// TestSentencesSplitsAtLongRunsOfMarks checks that splitting takes linear time. The Unicode rules look back over
// brackets and spaces, so they must not see long runs of such characters, and segments must not overlap.
func TestSentencesSplitsAtLongRunsOfMarks(t *testing.T) {
	t.Parallel()
	brackets, spaces := strings.Repeat(")", 10_000), strings.Repeat(" ", 10_000)
	for name, c := range map[string]struct {
		text string
		want []string // sentences without their final punctuation
	}{
		"brackets and spaces between sentences": {"One." + brackets + spaces + "Two. Three.", []string{"One.", "Two.", "Three."}},
		"brackets and spaces in turns":          {"One." + strings.Repeat(") ", 10_000) + "Two.", []string{"One.", "", "Two."}},
		"nothing but brackets":                  {brackets, []string{""}},
		"brackets after many spaces":            {spaces + brackets, []string{""}},
		"accents upon a letter":                 {"a" + strings.Repeat("\u0301", 10_000) + " b.", []string{"a" + strings.Repeat("\u0301", 10_000), "b."}},
		"nothing but spaces":                    {spaces, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			end := 0
			for s := range segments(c.text) {
				if s.from != end || s.to < s.from || s.next < s.to {
					t.Fatalf("stretch %+v after %d", s, end)
				}
				end = s.next
				run := 0
				for _, r := range c.text[s.from:s.to] {
					if run++; unicode.IsLetter(r) || unicode.IsDigit(r) {
						run = 0
					}
					if run > maxGap {
						t.Fatalf("the rules are shown more than %d marks in a row", maxGap)
					}
				}
			}
			if end != len(c.text) {
				t.Fatalf("the last stretch ends at %d of %d", end, len(c.text))
			}
			var got []string
			for _, s := range Sentences(c.text) {
				got = append(got, strings.TrimRight(c.text[s.Start:s.End], ") "))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// seeds are unusual inputs for fuzzing.
var seeds = []string{
	"", "The houses", "AX-200_b.c,d/e", "東京都ー", "ที่นี่", "\xff\xfe\x00", "a\u0301\u0301\u0301", "🙂👨\u200d👩\u200d👧", "שָׁלוֹם العَرَبِيَّة", "1,000.00-2",
	"ＡＢＣ①②", "\u200d\u200d", "کتاب\u200cخانه\u200c", "a\u200b\u200b-b\u200bc", "ज़\u093c", "٢٠20", "hoà quý uỳ", "İstanbul ı", "ß", "x" + strings.Repeat("\u0300", 200), strings.Repeat("-a", 40),
}

func FuzzTerms(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, "en")
		f.Add(s, "tr")
		f.Add(s, "el")
	}
	f.Fuzz(func(t *testing.T, text, lang string) {
		Detect(text)
		for _, term := range Terms(text, Language(lang)) {
			if term == "" || utf8.RuneCountInString(term) > 2*MaxTermRunes {
				t.Fatalf("Terms(%q) yields %q", text, term)
			}
		}
		for _, q := range Query(text, []Language{Language(lang), "de"}) {
			if q.Name == "" || !slices.Contains(q.Forms, q.Name) {
				t.Fatalf("Query(%q) yields %+v", text, q)
			}
		}
	})
}

func FuzzSentences(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Add("Mr. A. B.\n\nC")
	f.Add("One." + strings.Repeat(")", 200) + strings.Repeat(" ", 100) + "Two.")
	f.Add(strings.Repeat("( ", 100) + "\u0600\u0600 x")
	f.Fuzz(func(t *testing.T, text string) {
		end := 0
		for _, s := range Sentences(text) {
			if s.Start < end || s.End <= s.Start || s.End > len(text) {
				t.Fatalf("span %+v of %q after %d", s, text, end)
			}
			if strings.TrimSpace(text[end:s.Start]) != "" {
				t.Fatalf("%q lies between the sentences of %q", text[end:s.Start], text)
			}
			end = s.End
		}
		if strings.TrimSpace(text[end:]) != "" {
			t.Fatalf("%q follows the last sentence of %q", text[end:], text)
		}
	})
}

func BenchmarkTerms(b *testing.B) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Terms(string(text), English)
	}
}
