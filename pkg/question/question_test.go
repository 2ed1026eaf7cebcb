package question

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPartsAreTheQuestionsOfAText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		// Several sentences.
		"How long is the warranty? Who built the pump?": {"How long is the warranty?", "Who built the pump?"},
		"Explain the valve. List the spare parts.":      {"Explain the valve.", "List the spare parts."},
		"What is the flow rate?\nWhat is the voltage?":  {"What is the flow rate?", "What is the voltage?"},
		// A statement before the questions says what they are about.
		"I own an Aurora X2. How heavy is the motor? Which oil does the gear need?": {
			"I own an Aurora X2. How heavy is the motor?", "I own an Aurora X2. Which oil does the gear need?",
		},
		// Several questions in one sentence.
		"How long is the warranty and who built the pump?":                      {"How long is the warranty", "who built the pump?"},
		"When was the bridge opened, and in which year was the tunnel closed?":  {"When was the bridge opened", "in which year was the tunnel closed?"},
		"What is the flow rate, when was the plant built, and who designed it?": {"What is the flow rate", "when was the plant built", "when was the plant built who designed it?"},
		"How does the export work and can I restrict the import?":               {"How does the export work", "can I restrict the import?"},
		"Who signed the lease and upon his return, what did the tenant pay?":    {"Who signed the lease", "Who signed the lease upon his return, what did the tenant pay?"},
		"How far must I stay from power lines, and what does the Kestrel cost?": {"How far must I stay from power lines", "what does the Kestrel cost?"},
		// If a part refers to the previous part, its query repeats the previous part's names.
		"How heavy is the Aurora X2 and what does it cost?":         {"How heavy is the Aurora X2", "Aurora X2 what does it cost?"},
		"Who directed the film about Gdansk and who wrote it?":      {"Who directed the film about Gdansk", "Gdansk who wrote it?"},
		"How heavy is the pump? How much does it cost?":             {"How heavy is the pump?", "How heavy is the pump? How much does it cost?"},
		"Wie schwer ist die Pumpe und wie lange gilt die Garantie?": {"Wie schwer ist die Pumpe", "wie lange gilt die Garantie?"},
		"Quand le pont a-t-il été ouvert et combien le tunnel a-t-il coûté ?": {
			"Quand le pont a-t-il été ouvert", "combien le tunnel a-t-il coûté ?",
		},
		"¿Cuándo se abrió el puente y cuánto costó el túnel?": {"¿Cuándo se abrió el puente", "cuánto costó el túnel?"},
		"Quando è stato aperto il ponte e quanto è costato il tunnel?": {
			"Quando è stato aperto il ponte", "quanto è costato il tunnel?",
		},
		"Когда открыли мост и сколько стоил тоннель?":            {"Когда открыли мост", "сколько стоил тоннель?"},
		"Кто построил мост и директором какой школы был Павлов?": {"Кто построил мост", "директором какой школы был Павлов?"},
		"Когда открыли мост и назовите архитектора тоннеля":      {"Когда открыли мост", "назовите архитектора тоннеля"},
		"Köprü ne zaman açıldı ve tünelin maliyeti ne kadardır?": {"Köprü ne zaman açıldı", "tünelin maliyeti ne kadardır?"},
		"متى افتتح الجسر وكم كلف النفق؟":                         {"متى افتتح الجسر", "وكم كلف النفق؟"},
		"大桥是什么时候开通的，隧道花了多少钱？":                                    {"大桥是什么时候开通的", "隧道花了多少钱？"},
		"橋はいつ開通しましたか、トンネルの費用はいくらですか？":                            {"橋はいつ開通しましたか", "トンネルの費用はいくらですか？"},
		"《心居》的主演有谁，导演是谁？":                                        {"《心居》的主演有谁", "《心居》的主演有谁 导演是谁？"},
	} {
		if got := queries(Parts(text)); !slices.Equal(got, want) {
			t.Errorf("%s\ngot  %q\nwant %q", text, got, want)
		}
	}
}

func queries(parts []Part) []string {
	var out []string
	for _, p := range parts {
		out = append(out, p.Query)
	}
	return out
}

func TestPartsAreGivenAsAsked(t *testing.T) {
	t.Parallel()
	var got []string
	for _, p := range Parts("I own an Aurora X2. How heavy is it, and which oil does it need?") {
		got = append(got, p.Text)
	}
	if want := []string{"How heavy is it", "which oil does it need?"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOneQuestionHasNoParts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "?", "  ", "warranty", "How long is the warranty of the pump and the motor?",
		"Where and when was Marie Curie born?",
		"How far must I stay from power lines and masts?", "how far must i stay from what is under power?",
		"What is the difference between the lease and the licence?",
		"Who is the man who founded the company and later sold it?",
		"Which pump is heavy and red?",
		"What U.S. entity said that corporal punishment was constitutional?",
		"How many people were affected as of Feb. 10, 2020?",
		"Goldenson proposed a merger between UPT and what network in October 1954?",
		"Ma dette est forclose et je suis toujours fiché. Que peut faire la CNIL ?",
		"Qual era il rapporto tra uomini e donne ad Harvard?",
		"Hangi yıllarda İspanya ve Portekiz Avrupa Birliği'ne katıldı?",
		"Какие мосты и тоннели построил Павлов?",
		"Сколько стоит проезд по мосту, который построил Павлов, и по тоннелю?",
		"北朝幾個朝代中，哪個朝代最積極建築長城?",
		"sort a list of tuples and keep the order",
	} {
		if got := Parts(text); got != nil {
			t.Errorf("%s\ngot %q, want one question", text, got)
		}
	}
}

func TestMoreQuestionsThanMaxPartsAreKept(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("How heavy is the pump of the plant? ", MaxParts+2)
	parts := Parts(text)
	if len(parts) != MaxParts {
		t.Fatalf("%d parts, want %d: %q", len(parts), MaxParts, parts)
	}
	if n := strings.Count(parts[MaxParts-1].Text, "?"); n != 3 {
		t.Errorf("the last part has %d questions, want 3: %q", n, parts[MaxParts-1])
	}
}

func FuzzParts(f *testing.F) {
	f.Add("How long is the warranty, and who built the pump?")
	f.Add("¿Cuándo se abrió y y ¿cuánto, , y")
	f.Add("大桥是什么，，什么？")
	f.Add("\xff and what \xf0\x28 and how?")
	f.Fuzz(func(t *testing.T, text string) {
		parts := Parts(text)
		if len(parts) == 1 || len(parts) > MaxParts {
			t.Fatalf("%d parts of %q", len(parts), text)
		}
		total := 0
		for _, p := range parts {
			if strings.TrimSpace(p.Text) == "" || strings.TrimSpace(p.Query) == "" {
				t.Errorf("an empty part of %q: %q", text, parts)
			}
			total += len(p.Query)
		}
		if limit := 2 * (MaxParts + 1) * (len(text) + 1); total > limit {
			t.Errorf("%d bytes of parts from %d bytes, more than %d", total, len(text), limit)
		}
		if utf8.RuneCountInString(text) > maxCharacters && parts != nil {
			t.Error("a long text was split")
		}
	})
}
