package language

import "testing"

func TestTextOfClientsIsNotPartOfTheQuestion(t *testing.T) {
	t.Parallel()
	const question = "How long is the ferry ride?"
	for text, want := range map[string]string{
		question + "\n\nReply in English.":                                           question,
		question + " Answer in German":                                               question,
		question + "\n(Please respond in French.)":                                   question,
		"Wie lange fährt die Fähre?\n\nAntworte auf Deutsch.":                        "Wie lange fährt die Fähre?",
		"Combien de temps ?\n\nRéponds en français.":                                 "Combien de temps ?",
		"Сколько идёт паром?\n\nОтвечай по-русски.":                                  "Сколько идёт паром?",
		"Current date: 2026-02-03\n\n" + question:                                    question,
		"Today is Tuesday, 3 February 2026.\n" + question:                            question,
		question + "\n\nCurrent Date and Time: 2026-02-03 10:00":                     question,
		"### Task:\nUse the context.\n<user_query>\n" + question + "\n</user_query>": question,

		question:                        question,
		"Reply in English.":             "Reply in English.",
		"How do I reply in English?":    "How do I reply in English?",
		"What is the current date: 3?":  "What is the current date: 3?",
		"Is it today or on 3 February?": "Is it today or on 3 February?",
	} {
		if got := WithoutClientText(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
