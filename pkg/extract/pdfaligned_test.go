package extract

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTablesWithNamesOverSeveralColumns(t *testing.T) {
	t.Parallel()
	row := func(y float64, cells ...any) string {
		var b strings.Builder
		for i := 0; i < len(cells); i += 2 {
			b.WriteString(at("F1", 10, float64(cells[i].(int)), y, cells[i+1].(string)))
		}
		return b.String()
	}
	body := pdfLines("F1", 10, 72, 300, bodyOfPage, "it goes on for a second line and on to a third.", "And that is all.")
	const bodyText = "p: " + bodyOfPage + " it goes on for a second line and on to a third. And that is all."
	tests := map[string]struct {
		content string
		want    []string
	}{
		"cells close together": {
			row(700, 72, "City") + row(708, 112, "Population") + row(692, 112, "2019", 144, "2020") +
				row(676, 72, "Ghent", 112, "11", 144, "12") + row(660, 72, "Lyon", 112, "15", 144, "16"),
			[]string{"tr: City\tPopulation 2019\tPopulation 2020", "tr: City: Ghent; Population 2019: 11; Population 2020: 12", "tr: City: Lyon; Population 2019: 15; Population 2020: 16"}},
		"cells far apart, with a column on either side": {
			row(708, 196, "Dose (mg)") + row(700, 72, "Drug", 330, "Notes") + row(692, 170, "Adult", 250, "Child") +
				row(676, 72, "Aspirin", 170, "500", 250, "100", 330, "with food") + row(660, 72, "Codeine", 170, "30", 250, "10", 330, "never drive"),
			[]string{"tr: Drug\tDose (mg) Adult\tDose (mg) Child\tNotes", "tr: Drug: Aspirin; Dose (mg) Adult: 500; Dose (mg) Child: 100; Notes: with food",
				"tr: Drug: Codeine; Dose (mg) Adult: 30; Dose (mg) Child: 10; Notes: never drive"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(append(tt.want, bodyText), pdfBlockLines(t, pdfPages(tt.content+body))); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
		})
	}
}
