package extractive

import (
	"slices"
	"testing"
)

func TestMonthsOfAQuestionStandNextToANumber(t *testing.T) {
	t.Parallel()
	for question, want := range map[string][]int{
		"What was the net pay in May 2025?": {5},
		"May I carry over 5 days?":          nil,
		"Сколько нужно заплатить за апрель 2025 года?":     {4},
		"Welche Rechnung vom 3. März ist offen?":           {3},
		"Entre el 5 de mayo y el 2 de junio, ¿qué cambia?": {5, 6},
		"How far do they march?":                           nil,
	} {
		if got := monthsIn(question); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", question, got, want)
		}
	}
}

func TestAMonthIsMentionedByNameOrInADate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"Pay date 27/06/2025": true, "2025-06-27": true, "27.6.25": true, "06/2025": true, "30 juin": true, "Stand: Juni": true,
		"27/05/2025": false, "May 2025": false, "6 pieces": false, "version 6": false,
	} {
		if got := mentionsMonth(text, 6); got != want {
			t.Errorf("%q: got %t", text, got)
		}
	}
}
