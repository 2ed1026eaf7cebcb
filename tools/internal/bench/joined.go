package bench

import (
	"math/rand/v2"
	"strings"
	"unicode"
	"unicode/utf8"
)

// JoinedQuestions is the number of questions that Join makes.
const JoinedQuestions = 100

// JoinedSeed is the random seed for the published figures. Use other seeds while developing the rules that split
// questions, so that the rules aren't fitted to the published questions.
const JoinedSeed = 31

// conjunctions maps a language to the words that join two questions. A collection's name ends with its language. In
// languages without an entry, questions are joined only with question marks.
var conjunctions = map[string]string{
	"en": " and ", "reddit": " and ", "es": " y ", "it": " e ", "ro": " și ", "ru": " и ", "el": " και ", "tr": " ve ", "hi": " और ", "vi": " và ", "ar": " و", "zh": "，",
}

// Joined is a question with several parts.
type Joined struct {
	Text  string
	Parts []string // ids of the original questions
	Texts []string // the original questions
}

// Join makes JoinedQuestions questions with n parts each. Half of them are joined with question marks, half with the
// language's word for "and". The same seed gives the same questions.
func Join(c Collection, n int, seed uint64) []Joined {
	random := rand.New(rand.NewPCG(seed, uint64(n)))
	_, language, _ := strings.Cut(c.Name, "-")
	conjunction, ok := conjunctions[language]
	out := make([]Joined, 0, JoinedQuestions)
	for i := range JoinedQuestions {
		var j Joined
		var text strings.Builder
		for k, q := range random.Perm(len(c.Questions))[:min(n, len(c.Questions))] {
			asked := strings.TrimRight(strings.TrimSpace(c.Questions[q].Text), "?？؟.")
			j.Parts, j.Texts = append(j.Parts, c.Questions[q].ID), append(j.Texts, c.Questions[q].Text)
			switch {
			case k == 0:
				text.WriteString(asked)
			case ok && i%2 == 1:
				first, size := utf8.DecodeRuneInString(asked)
				text.WriteString(conjunction + string(unicode.ToLower(first)) + asked[size:])
			default:
				text.WriteString("? " + asked)
			}
		}
		j.Text = text.String() + "?"
		out = append(out, j)
	}
	return out
}
