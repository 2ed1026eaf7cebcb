package analysis

import (
	"slices"
	"testing"
)

// TestVariantsOfAScriptFindEachOther searches for one variant of a word in documents with another variant. The
// documents are whole sentences, so that their language can be detected.
func TestVariantsOfAScriptFindEachOther(t *testing.T) {
	t.Parallel()
	const (
		arabic     = "هذا هو النص الذي كتب في هذه المدينة من قبل "
		persian    = "این یک متن فارسی است که برای آزمایش نوشته شده است "
		hindi      = "यह दिल्ली में लिखा गया एक वाक्य है "
		german     = "Das ist der Satz, den wir in der Stadt und auf dem Land lesen: "
		vietnamese = "là thủ đô của nước Việt Nam và là một thành phố lớn: "
		russian    = "Это было в лесу, и мы не знали, что это он: "
	)
	for script, cases := range map[string][]struct {
		query, doc string
		want       bool
	}{
		"Arabic": {
			{"احمد", arabic + "أحمد", true}, {"أحمد", arabic + "احمد", true}, {"مدرسه", arabic + "مدرسة", true},
			{"كـــتاب", arabic + "كتاب", true}, {"كتاب", arabic + "ﻛﺘﺎﺏ", true}, {"2020", arabic + "٢٠٢٠", true}, {"٢٠٢٠", arabic + "2020", true},
			{"كتاب", arabic + "كاتب", false},
		},
		"Persian": {
			{"اب", persian + "آب", true}, {"آب", persian + "اب", true}, {"كتاب", persian + "کتاب", true}, {"خانه", persian + "خانۀ", true},
			{"کتاب", persian + "کتاب\u200cخانه", true}, {"خانه", persian + "کتاب\u200cخانه", true}, {"کتابخانه", persian + "کتاب\u200cخانه", true},
			{"کتاب\u200cخانه", persian + "کتاب خانه کتابخانه", true}, {"1385", persian + "۱۳۸۵", true}, {"تاب", persian + "کتاب\u200cخانه", false},
		},
		"Urdu":   {{"بچه", "یہ ایک بچہ ہے اور وہ یہاں کا ہے", true}},
		"Hebrew": {{"שלומ", "שלום לכולם", true}, {"שלום", "שָׁלוֹם לכולם", true}, {"של\u200fום", "שלום לכולם", true}},
		"Greek":  {{"ΦΩΣ", "το φως είναι εδώ", true}, {"ΟΔΟΣ", "η οδός είναι εδώ", true}, {"φώς", "The word φως is Greek, and it is the one for light.", true}},
		"Cyrillic": {
			{"ружье", russian + "ружьё", true}, {"ружьё", russian + "ружье", true}, {"елка", russian + "ёлка", true}, {"иод", russian + "йод", false},
		},
		"Devanagari": {
			{"हिंदी", hindi + "हिन्दी", true}, {"हिन्दी", hindi + "हिंदी", true}, {"चांद", hindi + "चाँद", true}, {"जमीन", hindi + "ज़मीन", true},
			{"2020", hindi + "२०२०", true}, {"चाय", hindi + "चाह", false},
		},
		"Bengali":   {{"2020", "এটি একটি বাক্য ২০২০", true}},
		"Malayalam": {{"നന്മ", "അത് നന്\u200dമ ആണ്", true}},
		"German": {
			{"Mueller", german + "Müller", true}, {"Müller", german + "Mueller", true}, {"Strasse", german + "Straße", true}, {"Straße", german + "STRASSE", true},
			{"Auflage", german + "Auf\u200clage", true}, {"lage", german + "Auf\u200clage", false}, {"Qelle", german + "Quelle", false}, {"neu", german + "nu", false},
		},
		"Turkish": {{"istanbul", "Bu bir şehir ve İSTANBUL için çok güzel", true}},
		"Vietnamese": {
			{"ha noi", "Hà Nội " + vietnamese, true}, {"Hà Nội", "Hà Nội " + vietnamese, true}, {"hạ nội", "Hà Nội " + vietnamese, false},
			{"hoà", vietnamese + "hòa", true}, {"hòa", vietnamese + "hoà", true}, {"quý", vietnamese + "quý", true}, {"dong", vietnamese + "đồng", true},
		},
		"Japanese": {
			{"ﾃﾚﾋﾞ", "私はテレビを見る", true}, {"テレビ", "私はﾃﾚﾋﾞを見る", true}, {"葛城", "私は葛\U000E0100城に行く", true}, {"ＡＢＣ", "私はabcを見る", true},
		},
		"words with zero-width spaces": {{"user", "The get\u200buser\u200bname is here.", true}, {"getusername", "The get\u200buser\u200bname is here.", true}},
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			for _, c := range cases {
				langs := []Language{Detect(c.doc)}
				if got := matches(c.query, c.doc, langs); got != c.want {
					t.Errorf("%q in %q (%q): %v, want %v; query %v, document %v", c.query, c.doc, langs[0], got, c.want, Query(c.query, langs), Terms(c.doc, langs[0]))
				}
			}
		})
	}
}

// TestQueriesFindTheTermsOfEarlierVersions compares query words' forms with version 1's terms.
func TestQueriesFindTheTermsOfEarlierVersions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lang        Language
		word, terms string
	}{
		{"fa", "آب", "آب"}, {"fa", "می\u200cرود", "میرود"}, {"fa", "۱۳۸۵", "۱۳۸۵"}, {"fa", "كتاب", "كتاب"}, {"ar", "مدرسة", "مدرس"}, {"ar", "على", "على"},
		{"he", "שלום", "שלום"}, {Unknown, "φως", "φως"}, {"ru", "ружьё", "ружье"}, {"hi", "हिन्दी", "हिन्दी"}, {"hi", "ज़मीन", "ज\u093cमीन"},
		{German, "Mueller", "mueller"}, {German, "aktuelle", "aktuell"}, {Vietnamese, "hoà", "hoà"}, {Vietnamese, "noi", "noi"}, {"tr", "İzmir", "izmir"},
	} {
		found := false
		for _, q := range Query(c.word, []Language{c.lang}) {
			found = found || slices.Contains(q.Forms, c.terms)
		}
		if !found {
			t.Errorf("no form of %q in %q is %q: %v", c.word, c.lang, c.terms, Query(c.word, []Language{c.lang}))
		}
	}
}

func TestAQueryTermHasTheNumberOfItsOccurrences(t *testing.T) {
	t.Parallel()
	counts := func(query string, langs ...Language) map[string]int {
		out := map[string]int{}
		for _, q := range Query(query, langs) {
			out[q.Name] = q.Count
		}
		return out
	}
	for query, want := range map[string]map[string]int{
		"Pumps, a pump and the pumping valve": {"pump": 3, "valv": 1},
		"the of the":                          {"the": 2, "of": 1},
		"東東":                                  {"東": 1, "東東": 1},
	} {
		got := counts(query, English)
		for name, n := range want {
			if got[name] != n || len(got) != len(want) {
				t.Errorf("%q has %v, want %v", query, got, want)
			}
		}
	}
	if got := counts("cà cà cà", Vietnamese); got["cà"] != 1 {
		t.Errorf("Vietnamese syllables: %v", got)
	}
}

// TestQueriesWithoutMarksStayExactElsewhere checks when a query without diacritics matches words that have them: only
// in Vietnamese documents, and only if the query isn't in another language. A query with diacritics stays exact.
func TestQueriesWithoutMarksStayExactElsewhere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		query string
		langs []Language
		want  bool
	}{
		{"ha noi", []Language{Vietnamese}, true}, {"ha noi", []Language{English, Vietnamese}, true}, {"ha noi", []Language{English}, false},
		{"ha nội", []Language{Vietnamese}, false}, {"where is the house that they built", []Language{English, Vietnamese}, false},
	} {
		bare := slices.ContainsFunc(Query(c.query, c.langs), func(q QueryTerm) bool { return slices.Contains(q.Forms, barePrefix+q.Name) })
		if bare != c.want {
			t.Errorf("%q among %q: %v, want %v", c.query, c.langs, bare, c.want)
		}
	}
}
