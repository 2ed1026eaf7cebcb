package extractive

import (
	"testing"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/answer/language"
	"github.com/sluice/sluice/pkg/domain"
)

func TestIdentifiersArePartedIntoTheirWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"price_eur: 12":           "price eur: 12",
		"UNIT_PRICE":              "UNIT PRICE",
		"unitPrice":               "unit Price",
		"netUnitPriceEur":         "net Unit Price Eur",
		"9 kWh at 1013 hPa":       "9 kWh at 1013 hPa",
		"GTIN of the Wall Mount":  "GTIN of the Wall Mount",
		"größeÄnderung":           "größe Änderung",
		"what is written in full": "what is written in full",
		"":                        "",
	} {
		if got := partedIdentifiers(text); got != want {
			t.Errorf("%q is parted into %q, want %q", text, got, want)
		}
	}
}

func TestAColumnThatHoldsMoneyHoldsAPrice(t *testing.T) {
	t.Parallel()
	for column, want := range map[string]bool{
		"price":        true,
		"Price (EUR)":  true,
		"price_eur":    true,
		"unit_price":   true,
		"unitPrice":    true,
		"list_cost":    true,
		"Preis in EUR": true,
		"netto_preis":  true,
		"EUR":          true,
		"€":            true,
		"shelf":        false,
		"eurocode":     false,
		"priceless":    false,
	} {
		row := "sku: BW-301; product: Wall Mount; " + column + ": 12.50; stock: 40"
		f := domain.Fragment{DatasourceName: "parts.csv", Score: 0.4, Text: "sku\tproduct\t" + column + "\tstock\n" + row +
			"\nsku: BW-302; product: Gateway G2 LTE; " + column + ": 249.00; stock: 7"}
		for _, question := range []string{"What does BW-301 cost?", "price of BW-301", "How much does the Wall Mount cost?", "price of the Wall Mount", "Was kostet BW-301?"} {
			got := quote(t, chat.Prompt{Question: question, Fragments: []domain.Fragment{f}})
			say := language.PhrasesFor(question, nil, nil)
			if (got == say.Quotes+"\n\n"+say.Open+row+say.Close+" [1]") != want {
				t.Errorf("%q of the column %q: got %q", question, column, got)
			}
		}
	}
}
