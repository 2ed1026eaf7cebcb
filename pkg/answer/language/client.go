package language

import (
	"strings"

	"github.com/sluice/sluice/pkg/lazyregexp"
)

// Text that chat clients add to questions.
var (
	// userQuery matches a question in Open WebUI's template.
	userQuery = lazyregexp.New(`(?is)<user_query>(.*)</user_query>`)

	// statedDate matches a line that states the current date or time.
	statedDate = lazyregexp.New(`(?im)^[ \t]*(?:(?:the )?current (?:date|time|datetime|date and time|date/time|date & time)(?: is)?|today(?:'s date)?(?: is)?|now|` +
		`aktuelles datum|heute(?: ist)?|heutiges datum|date (?:actuelle|du jour)|fecha actual|data (?:attuale|odierna|atual|de hoje)|huidige datum|текущая дата)[ :][^\n?]*\d[^\n?]*(?:\n|$)`)

	// answerLanguage matches a final instruction to answer in a given language.
	answerLanguage = lazyregexp.New(`(?i)(?:^|[\n.?!]\s*)\(?(?:please |bitte |por fav[o]r,? )?` +
		`(?:(?:reply|answer|respond|write)(?: only| always)? in|(?:antworte|antworten sie)(?: bitte)? (?:auf|in)|(?:réponds|répondez|répondre) en|(?:responde|responda|contesta|conteste) (?:en|em)|` +
		`(?:rispondi|rispondere) in|antwoord in(?: het)?|(?:отвечай|отвечайте|ответь|ответьте) (?:по-|на ))\s*\pL+(?: (?:only|language|языке|please|bitte))?\s*[.!]?\)?\s*$`)
)

// WithoutClientText removes what chat clients add to a question: the current date, the answer's language, and Open
// WebUI's template. A message that consists only of such text is returned unchanged.
func WithoutClientText(question string) string {
	out := question
	if m := userQuery().FindStringSubmatch(out); m != nil {
		out = m[1]
	}
	out = statedDate().ReplaceAllString(out, "")
	if at := answerLanguage().FindStringIndex(out); at != nil && at[0] > 0 {
		out = out[:at[0]+1] // keep the previous sentence's full stop
	}
	if out = strings.TrimSpace(out); out == "" {
		return question
	}
	return out
}
