package table_test

import (
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/extract/table"
)

func TestPartsOfAnAmountAreJoined(t *testing.T) {
	t.Parallel()
	for row, want := range map[string]string{
		"Revenue|$|1,234|":         "Revenue||$1,234|",
		"Loss||(1,234|)":           "Loss||(1,234)|",
		"Loss|$|(1,234|)":          "Loss||$(1,234)|",
		"Loss|US$|(1,234|)|€|5":    "Loss||US$(1,234)|||€5",
		"Margin|12.5|%":            "Margin|12.5%|",
		"Change|(15|)%":            "Change|(15)%|",
		"Change|(15||) %":          "Change|(15)%||",
		"Change|(15.5%|)":          "Change|(15.5%)|",
		"Price|$||.25":             "Price|||$.25",
		"Open|(|7|)":               "Open||(7)|",
		"Note (1)|)|x":             "Note (1)|)|x",
		"Zero|-|5":                 "Zero|-|5",
		"Name|$|unknown":           "Name|$|unknown",
		"Far|$||||5":               "Far|$||||5",
		"Two|5|)":                  "Two|5|)",
		"Mark|1,234 (2)|12.5*":     "Mark|1,234 (2)|12.5*",
		"Mark|1,234|(2)":           "Mark|1,234|(2)",
		"Plain|1,234|5,678":        "Plain|1,234|5,678",
		"Percent of two|12|%|13|%": "Percent of two|12%||13%|",
	} {
		cells := strings.Split(row, "|")
		if got := strings.Join(table.JoinAmounts(cells), "|"); got != want {
			t.Errorf("%s became %s, want %s", row, got, want)
		}
		if strings.Join(cells, "|") != row {
			t.Errorf("the row %s was changed", row)
		}
	}
}
