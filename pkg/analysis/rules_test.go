package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// alternativesIn returns each term's alternatives as text, using the first form of each word.
func alternativesIn(terms []QueryTerm) map[string][]string {
	out := make(map[string][]string)
	for _, q := range terms {
		all := []string{}
		for _, a := range q.Alternatives {
			var words []string
			for _, forms := range a.Words {
				words = append(words, forms[0])
			}
			all = append(all, strings.Join(words, "+"))
		}
		out[q.Name] = all
	}
	return out
}

func TestSynonymsOfAQuery(t *testing.T) {
	t.Parallel()
	rules := NewRules([]Synonym{
		{"car", []string{"automobile", "motor vehicle", "cars"}}, {"New York", []string{"NY", "big apple"}}, {"york", []string{"eboracum"}},
		{"IT", []string{"information technology"}}, {"東京", []string{"首都"}}, {"Straße", []string{"road"}}, {"AX-200", []string{"pump"}},
		{"laufen", []string{"rennen"}},
	}, nil, nil)
	for text, want := range map[string]map[string][]string{
		"Cars":                 {"car": {"automobil", "motor+vehicl"}},
		"hotels in new  YORK?": {"hotel": {}, "new": {"ny", "big+appl"}, "york": {"ny", "big+appl"}},
		"old York":             {"old": {}, "york": {"eboracum"}},
		"the IT of banks":      {"bank": {}, "it": {"inform+technolog"}},
		"東京の塔":                 {"東": {"首都"}, "東京": {}, "京": {"首都"}, "京の": {}, "の": {}, "の塔": {}, "塔": {}},
		"AX-200 manual":        {"ax": {"pump"}, "200": {"pump"}, "ax200": {"pump"}, "manual": {}},
		"sails":                {"sail": {}},
	} {
		if diff := cmp.Diff(want, alternativesIn(QueryWith(text, []Language{English}, rules))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	got := alternativesIn(QueryWith("wir liefen und laufen durch die Strasse", []Language{German}, rules))
	if !slices.Equal(got["lauf"], []string{"renn"}) {
		t.Errorf("in German, the synonyms are %v", got)
	}
	if diff := cmp.Diff(Query("Cars in New York", nil), QueryWith("Cars in New York", nil, NewRules(nil, nil, nil))); diff != "" {
		t.Errorf("empty rules change a query (-want +got):\n%s", diff)
	}
}

func TestStopWordsOfRules(t *testing.T) {
	t.Parallel()
	rules := NewRules(nil, []string{"Please", "show", " Bitte ", "iPhone12", "two words", "e-mail"}, []string{"who", "The"})
	for text, want := range map[string][]string{
		"Please show me THE pumps": {"the", "pump"},
		"the who in concert":       {"the", "who", "concert"},
		"please":                   {"pleas"}, // the only word
		"iPhone12 phone mail":      {"phone", "12", "mail"},
		"pleased":                  {"pleas"},
	} {
		var got []string
		for _, q := range QueryWith(text, []Language{English}, rules) {
			got = append(got, q.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestExpansionsAreBounded(t *testing.T) {
	t.Parallel()
	var synonyms []Synonym
	for i := range 2000 {
		var to []string
		for j := range 40 {
			to = append(to, fmt.Sprintf("word%dx%d another phrase of several words", i, j))
		}
		synonyms = append(synonyms, Synonym{fmt.Sprintf("term%d", i%200), to})
	}
	rules := NewRules(synonyms, nil, nil)
	var text strings.Builder
	for i := range 300 {
		fmt.Fprintf(&text, "term%d ", i)
	}
	total := 0
	for _, q := range QueryWith(text.String(), nil, rules) {
		if len(q.Alternatives) > maxAlternatives {
			t.Errorf("%s has %d alternatives", q.Name, len(q.Alternatives))
		}
		for _, a := range q.Alternatives {
			if total++; len(a.Words) > maxPhraseUnits {
				t.Errorf("an alternative has %d words", len(a.Words))
			}
		}
	}
	if total == 0 || total > maxQueryAlternatives*4 { // parts of a compound may have it as well
		t.Errorf("the query has %d alternatives", total)
	}
}

func TestFolded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"  Opening   HOURS? ": "opening hours",
		"Öffnungszeiten!":     "offnungszeiten",
		"ＡＢＣ":                 "abc",
		"":                    "",
		"…":                   "",
	} {
		if got := Folded(text); got != want {
			t.Errorf("%q is folded to %q, want %q", text, got, want)
		}
	}
	if n := Words("one two three four", 2); n != 3 {
		t.Errorf("counting to 2 ends at %d", n)
	}
}

func TestRulesAreSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	rules := NewRules([]Synonym{{"car", []string{"automobile"}}}, nil, nil)
	done := make(chan int)
	for i := range 8 {
		go func() {
			terms := QueryWith("a car", []Language{[]Language{English, German, "fr", "es"}[i%4]}, rules)
			done <- len(terms)
		}()
	}
	for range 8 {
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatal("a query does not return")
		}
	}
}

func TestJoinedRules(t *testing.T) {
	t.Parallel()
	cars := NewRules([]Synonym{{"car", []string{"automobile"}}, {"pump", []string{"compressor"}}}, []string{"old", "new"}, nil)
	more := NewRules([]Synonym{{"car", []string{"vehicle", "automobile"}}}, []string{"old"}, nil)
	if JoinRules() != nil || JoinRules(nil, nil) != nil || JoinRules(nil, cars) != cars {
		t.Error("rules are joined although there is only one or none")
	}
	want := map[string][]string{"car": {"automobil", "vehicl"}, "new": {}, "pump": {"compressor"}}
	if diff := cmp.Diff(want, alternativesIn(QueryWith("old cars and new pumps", []Language{English}, JoinRules(cars, nil, more)))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTextsThatContainAnAlternative(t *testing.T) {
	t.Parallel()
	rules := NewRules([]Synonym{{"car", []string{"motor vehicle"}}}, nil, nil)
	car := QueryWith("cars", []Language{English}, rules)[0]
	for text, want := range map[string]bool{"A vehicle with a motor.": true, "A motor vehicle.": true, "A vehicle.": false, "A car.": false} {
		terms := Terms(text, English)
		if got := car.HasAlternative(func(term string) bool { return slices.Contains(terms, term) }); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
