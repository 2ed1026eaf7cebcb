package support

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

// statement is a sentence supported by a source, or one with a planted error.
type statement struct {
	kind     string // "right", or the kind of error planted: "figure", "name" or "negation"
	language analysis.Language
	held     bool // whether it belongs to the held-out half used for measuring the result
	text     string
	source   domain.Fragment
	score    float64
	scored   bool
}

// TestPlantedErrorsAreFound plants wrong figures, names and negations in sentences from the test documents and in
// paraphrases. It compares these sentences' support with that of the correct ones. It fits the threshold on one half of
// the documents and measures on the other half how well the threshold separates correct and wrong sentences. Sentences
// copied word for word have support 1 and don't count. With -v, the test prints the figures for docs/answers.md.
func TestPlantedErrorsAreFound(t *testing.T) {
	t.Parallel()
	statements := append(documentStatements(t), paraphrases(t)...)
	for i := range statements {
		s := &statements[i]
		got := Judge(s.text+" [1]", []domain.Fragment{s.source}).Sentences
		for k, v := range got {
			if v.Support != nil && (k == 0 || *v.Support < s.score || !s.scored) {
				s.score, s.scored = *v.Support, true
			}
		}
	}
	statements = slices.DeleteFunc(statements, func(s statement) bool { return !s.scored })
	fitted := fit(statements)
	t.Logf("threshold fitted on one half: %.2f; used: %.2f", fitted, Threshold)
	if fitted < Threshold-0.15 || fitted > Threshold+0.15 {
		t.Errorf("the threshold is %.2f, but %.2f separates the statements best", Threshold, fitted)
	}
	var languages []analysis.Language
	for _, s := range statements {
		if !slices.Contains(languages, s.language) {
			languages = append(languages, s.language)
		}
	}
	slices.Sort(languages)
	t.Logf("%-10s %8s %8s %8s %8s", "kind", "right", "wrong", "AUROC", "found")
	for _, kind := range []string{"", "figure", "name", "negation"} {
		area, right, wrong, found, marked := measured(statements, kind, "")
		t.Logf("%-10s %8d %8d %8.3f %7.0f%%", cmp.Or(kind, "all"), right, wrong, area, 100*found)
		if area < 0.9 {
			t.Errorf("errors of kind %q: the area under the ROC curve is %.3f", kind, area)
		}
		if kind == "" {
			t.Logf("right sentences marked as unsupported: %.1f%%", 100*marked)
		}
	}
	for _, lang := range languages {
		area, right, wrong, found, marked := measured(statements, "", lang)
		t.Logf("%-10s %8d %8d %8.3f %7.0f%%, right ones marked: %.1f%%", lang, right, wrong, area, 100*found, 100*marked)
	}
	if os.Getenv("TEST_SHOW") != "" {
		for _, s := range statements {
			if (s.kind == "right") != (s.score >= Threshold) && !s.held && (os.Getenv("TEST_SHOW") == "all" || os.Getenv("TEST_SHOW") == string(s.language)) {
				t.Logf("%s %s %.2f: %s\n    of: %s", s.language, s.kind, s.score, s.text, s.source.Text)
			}
		}
	}
}

// fit returns the threshold that best separates correct and wrong statements in the first half.
func fit(statements []statement) float64 {
	best, most := 0.0, -1.0
	for i := 1; i < 100; i++ {
		at := float64(i) / 100
		counts := map[bool][2]float64{}
		for _, s := range statements {
			if s.held {
				continue
			}
			c := counts[s.kind == "right"]
			c[0]++
			if (s.score >= at) == (s.kind == "right") {
				c[1]++
			}
			counts[s.kind == "right"] = c
		}
		if accuracy := counts[true][1]/counts[true][0] + counts[false][1]/counts[false][0]; accuracy > most {
			best, most = at, accuracy
		}
	}
	return best
}

// measured returns figures for the held-out statements: the area under the ROC curve, the number of correct statements,
// the number of wrong ones, the fraction of wrong statements below the threshold, and the fraction of correct
// statements below it.
func measured(statements []statement, kind string, lang analysis.Language) (area float64, right, wrong int, found, marked float64) {
	var rights, wrongs []float64
	for _, s := range statements {
		switch {
		case !s.held || lang != "" && s.language != lang:
		case s.kind == "right":
			rights = append(rights, s.score)
		case kind == "" || s.kind == kind:
			wrongs = append(wrongs, s.score)
		}
	}
	below := func(scores []float64) float64 {
		n := 0.0
		for _, s := range scores {
			if s < Threshold {
				n++
			}
		}
		return n / float64(max(1, len(scores)))
	}
	for _, r := range rights {
		for _, w := range wrongs {
			switch {
			case r > w:
				area++
			case r == w:
				area += 0.5
			}
		}
	}
	return area / float64(max(1, len(rights)*len(wrongs))), len(rights), len(wrongs), below(wrongs), below(rights)
}

// paraphrases returns the statements in testdata/paraphrases.txt.
func paraphrases(t *testing.T) []statement {
	t.Helper()
	data, err := os.ReadFile("testdata/paraphrases.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []statement
	for i, block := range strings.Split(string(data), "\n\n")[1:] {
		lines := strings.Split(strings.TrimSpace(block), "\n")
		for _, text := range lines[2:] {
			out = append(out, planted(text, analysis.Language(lines[0]), i%2 == 0, domain.Fragment{Text: lines[1], Citation: 1})...)
		}
	}
	return out
}

// documentStatements returns reworded sentences from the test documents, for example with a clause moved or left out.
func documentStatements(t *testing.T) []statement {
	t.Helper()
	var out []statement
	for _, pattern := range []string{"documents/*", "answers/tuning/*", "answers/held-out/*"} {
		files, err := filepath.Glob(filepath.Join("../../../testdata", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for i, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			doc, err := readtest.Parse(t, filepath.Base(file), data)
			if err != nil {
				t.Fatal(err)
			}
			chunks, err := chunk.New(chunk.Options{}).Chunks(doc)
			if err != nil {
				t.Fatal(err)
			}
			held := strings.Contains(pattern, "held-out") || strings.HasPrefix(pattern, "documents") && i%2 == 0
			for _, c := range chunks {
				f := domain.Fragment{Text: c.Text, Heading: c.Heading, DatasourceName: filepath.Base(file), Citation: 1}
				lang := analysis.Detect(c.Text)
				for _, s := range chunk.Sentences(c.Text) {
					for _, text := range reworded(c.Text[s.Start:s.End], lang) {
						out = append(out, planted(text, lang, held, f)...)
					}
				}
			}
		}
	}
	return out
}

// according contains phrases that introduce a sentence, by language.
var according = map[analysis.Language]string{
	"en": "According to the manual, ", "de": "Laut Anleitung gilt: ", "fr": "Selon la notice, ", "es": "Según el documento, ", "it": "Secondo il documento, ", "pt": "Segundo o documento, ", "nl": "Volgens het document: ", "ru": "Согласно документу, ",
}

var wordsOf = regexp.MustCompile(`\S+`)

// reworded returns variants of a sentence in other words. Each variant says the same thing as the sentence or a part of
// it.
func reworded(sentence string, lang analysis.Language) []string {
	if itemLine().MatchString(sentence) || strings.ContainsAny(sentence, "\t\n|") || len(wordsOf.FindAllString(sentence, -1)) < 6 && !strings.ContainsFunc(sentence, unspaced) || utf8.RuneCountInString(sentence) < 15 {
		return nil
	}
	body := strings.TrimRight(sentence, ".。")
	var out []string
	clauses := regexp.MustCompile(`[,;] |[、，]`).Split(body, -1)
	if n := len(clauses); n > 1 && utf8.RuneCountInString(clauses[0]) > 12 && utf8.RuneCountInString(clauses[n-1]) > 12 {
		out = append(out, clauses[n-1]+", "+strings.Join(clauses[:n-1], ", ")+".") // the last clause moves to the front
	}
	if start := according[lang]; start != "" {
		first, size := utf8.DecodeRuneInString(body)
		second, _ := utf8.DecodeRuneInString(body[size:])
		if lang != "de" && unicode.IsLower(second) {
			first = unicode.ToLower(first)
		}
		// Omit function words, as people do in notes.
		var kept []string
		for _, w := range strings.Fields(string(first) + body[size:]) {
			if negationOf(strings.ToLower(w), []analysis.Language{lang}) != none || !analysis.IsFunctionWord(strings.ToLower(w), lang) {
				kept = append(kept, w)
			}
		}
		out = append(out, start+string(first)+body[size:]+".", strings.Join(kept, " ")+".")
	}
	return out
}

// planted returns a correct statement and a copy with each kind of error that can be planted in it.
func planted(text string, lang analysis.Language, held bool, source domain.Fragment) []statement {
	h := fnv.New64a()
	h.Write([]byte(text))
	random := rand.New(rand.NewPCG(h.Sum64(), 1))
	out := []statement{{kind: "right", language: lang, held: held, text: text, source: source}}
	for kind, plant := range map[string]func(string, analysis.Language, string, *rand.Rand) string{"figure": wrongFigureIn, "name": wrongNameIn, "negation": wrongNegationIn} {
		if wrong := plant(text, lang, source.Text, random); wrong != "" && wrong != text {
			out = append(out, statement{kind: kind, language: lang, held: held, text: wrong, source: source})
		}
	}
	return out
}

var figurePattern = regexp.MustCompile(`\d+(?:[.,]\d+)*`)

// wrongFigureIn replaces a figure with one that the source lacks: with a different digit, ten times as large, or with
// the decimal point elsewhere.
func wrongFigureIn(text string, _ analysis.Language, source string, random *rand.Rand) string {
	found := figurePattern.FindAllStringIndex(text, -1)
	if len(found) == 0 {
		return ""
	}
	at := found[random.IntN(len(found))]
	figure := text[at[0]:at[1]]
	for range 20 {
		b := []byte(figure)
		switch random.IntN(3) {
		case 0:
			if strings.ContainsAny(figure, ".,") {
				continue
			}
			b = append(b, '0')
		default:
			i := random.IntN(len(b))
			if b[i] < '0' || b[i] > '9' {
				continue
			}
			b[i] = '0' + (b[i]-'0'+byte(1+random.IntN(9)))%10
		}
		if wrong := string(b); wrong[0] != '0' && wrong != figure && !strings.Contains(source, wrong) {
			return text[:at[0]] + wrong + text[at[1]:]
		}
	}
	return ""
}

// otherNames are replacement names, keyed by whether the script is Cyrillic rather than Latin.
var otherNames = map[bool][]string{
	false: {"Brennholm", "Castellan", "Dunmore", "Esterhaz", "Quillfeather", "Vandermeer", "Wolcott", "Zellweger"},
	true:  {"Воронцов", "Кузнецова", "Лебедев", "Сорокин"},
}

var namePattern = regexp.MustCompile(`\p{Lu}\p{Ll}{2,}`)

// wrongNameIn replaces a name: a capitalised word that is not a function word or the first word. In German, it must
// also be next to another capitalised word.
func wrongNameIn(text string, lang analysis.Language, source string, random *rand.Rand) string {
	r := reader{analyzer: new(analysis.Analyzer), langs: []analysis.Language{lang}, terms: map[string][]string{}}
	var names []word
	for _, w := range r.read(text, 0, len(text), maxSentenceWords) {
		if w.name && namePattern.MatchString(text[w.start:w.end]) && !strings.ContainsFunc(w.lower, unicode.IsDigit) && strings.Contains(source, text[w.start:w.end]) {
			names = append(names, w)
		}
	}
	if len(names) == 0 {
		return ""
	}
	w := names[random.IntN(len(names))]
	others := otherNames[strings.ContainsFunc(w.lower, func(r rune) bool { return unicode.Is(unicode.Cyrillic, r) })]
	return text[:w.start] + others[random.IntN(len(others))] + text[w.end:]
}

// negations are replacements, by language, that negate a sentence or undo its negation.
var negations = map[analysis.Language][][2]string{
	"en": {{" must not ", " must "}, {" cannot ", " can "}, {" is not ", " is "}, {" are not ", " are "}, {" may not ", " may "}, {" does not ", " does "}, {" no ", " a "}, {" without ", " with "}, {" must ", " must not "}, {" can ", " cannot "}, {" may ", " may not "}, {" is ", " is not "}, {" are ", " are not "}, {" has ", " has no "}},
	"de": {{" nicht ", " "}, {" kein ", " ein "}, {" keine ", " eine "}, {" ohne ", " mit "}, {" Niemand ", " Jemand "}, {" ist ", " ist nicht "}, {" wird ", " wird nicht "}, {" werden ", " werden nicht "}, {" kann ", " kann nicht "}, {" darf ", " darf nicht "}, {" muss ", " muss nicht "}, {" kostet ", " kostet nicht "}},
	"fr": {{" n'est pas ", " est "}, {" ne doit pas ", " doit "}, {" sans ", " avec "}, {" est ", " n'est pas "}, {" sont ", " ne sont pas "}, {" doit ", " ne doit pas "}, {" peut ", " ne peut pas "}, {" coûte ", " ne coûte pas "}},
	"es": {{" no ", " "}, {" sin ", " con "}, {" es ", " no es "}, {" se ", " no se "}, {" debe ", " no debe "}, {" puede ", " no puede "}},
	"it": {{" non ", " "}, {" senza ", " con "}, {" è ", " non è "}, {" può ", " non può "}, {" deve ", " non deve "}, {" costa ", " non costa "}},
	"pt": {{" não ", " "}, {" sem ", " com "}, {" é ", " não é "}, {" pode ", " não pode "}, {" custa ", " não custa "}},
	"nl": {{" niet ", " "}, {" geen ", " een "}, {" zonder ", " met "}, {" is ", " is niet "}, {" wordt ", " wordt niet "}, {" kan ", " kan niet "}, {" mag ", " mag niet "}, {" kost ", " kost niet "}},
	"ru": {{" не ", " "}, {" нельзя ", " можно "}, {" без ", " с "}, {" измеряет ", " не измеряет "}, {" принимает ", " не принимает "}, {" составляет ", " не составляет "}},
	"ja": {{"できません", "できます"}, {"ません", "ます"}, {"可能です", "不可能です"}, {"です。", "ではありません。"}, {"ます。", "ません。"}},
	"zh": {{"不得", "可以"}, {"不", ""}, {"开放", "不开放"}, {"是", "不是"}, {"可", "不可"}},
	"ko": {{"하지 않습니다", "합니다"}, {"있습니다", "없습니다"}},
}

func wrongNegationIn(text string, lang analysis.Language, _ string, _ *rand.Rand) string {
	negative, _ := negated((&reader{analyzer: new(analysis.Analyzer), langs: []analysis.Language{lang}, terms: map[string][]string{}}).read(text, 0, len(text), maxSentenceWords))
	for _, n := range negations[lang] {
		if strings.Contains(text, n[0]) {
			return strings.Replace(text, n[0], n[1], 1)
		}
		if negative && len(n[0]) < len(n[1]) && !strings.ContainsFunc(text, unspaced) {
			return "" // this would add a second negation
		}
	}
	return ""
}

func ExampleJudge() {
	source := domain.Fragment{Text: "The pump has a warranty of 7 years.", Citation: 1}
	for _, s := range Judge("The warranty lasts 7 years [1]. The warranty lasts 9 years [1].", []domain.Fragment{source}).Sentences {
		fmt.Println(*s.Support >= Threshold)
	}
	// Output:
	// true
	// false
}
