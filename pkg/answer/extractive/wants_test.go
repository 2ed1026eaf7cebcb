package extractive

import "testing"

func TestWhatAQuestionAsksFor(t *testing.T) {
	t.Parallel()
	for question, want := range map[string]want{
		"How many days of leave do I have?":        wantAny,
		"Wie viele Tage Urlaub habe ich?":          wantAny,
		"Combien de jours de congé ai-je ?":        wantAny,
		"How much does a ticket cost?":             wantMoney,
		"What is the unit_price of BW-301?":        wantMoney,
		"unitPrice of BW-301":                      wantMoney,
		"price of the large impeller":              wantMoney,
		"Was kostet BX-4471-K?":                    wantMoney,
		"Quel est le prix du billet ?":             wantMoney,
		"Who pays the costs?":                      wantAny,
		"Where is the price list?":                 wantAny,
		"When is the fair?":                        wantAny,
		"Seit wann gilt das?":                      wantAny,
		"And when does it begin?":                  wantAny,
		"What do I do when the alarm rings?":       wantAny,
		"How long is the flight?":                  wantAny,
		"Wie lange dauert der Flug?":               wantAny,
		"Combien de temps dure la visite ?":        wantAny,
		"Many people ask how much it costs.":       wantMoney,
		"Wie ist die Telefonnummer?":               wantPhone,
		"How heavy is the pump?":                   wantMass,
		"What is the phone number of the office?":  wantPhone,
		"How do I change my phone?":                wantAny,
		"How much is it, and when is it over?":     wantAny,
		"How do I install it?":                     wantAny,
		"Which rooms are free?":                    wantAny,
		"水闸什么时候打开？":                                wantAny,
		"":                                         wantAny,
		"What is the email address of the office?": wantMail,
	} {
		if got := wantIn(question); got != want {
			t.Errorf("%q asks for %d, want %d", question, got, want)
		}
	}
}

func TestWhatHoldsAValue(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		question, text string
		want           bool
	}{
		"a price":                        {"What does it cost?", "It is 4,50 € each.", true},
		"a price by its column":          {"What does it cost?", "Article: X; Price: 18", true},
		"what is free":                   {"What does it cost?", "Children enter free of charge.", true},
		"a figure is no price":           {"What does it cost?", "It has 4 wheels.", false},
		"a currency of few countries":    {"What does it cost?", "It is 42 crowns per night.", true},
		"a year is no fee":               {"What is the fee?", "The fee was raised in 2019.", false},
		"a figure beside a fee":          {"What is the fee?", "The fee is due within 14 days.", false},
		"a verb is no currency":          {"What does it cost?", "In 4 steps try won games and real work.", false},
		"a weight":                       {"How heavy is it?", "6.4 kg", true},
		"a length is no weight":          {"How heavy is it?", "6.4 m", false},
		"a telephone number":             {"What is the phone number?", "Call +47 55 00 17 29.", true},
		"opening hours are no number":    {"What is the phone number?", "Open from 8:30 to 12:00.", false},
		"a mail address":                 {"What is the email address?", "Write to a@b.example.", true},
		"nothing where nothing is known": {"Why is it so?", "In 1987, for 3 €.", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := wantIn(test.question).isIn(test.text); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
