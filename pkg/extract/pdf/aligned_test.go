package pdf_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/extract/extracttest"
)

func TestTablesWithNamesOverSeveralColumns(t *testing.T) {
	t.Parallel()
	row := func(y float64, cells ...any) string {
		var b strings.Builder
		for i := 0; i < len(cells); i += 2 {
			b.WriteString(extracttest.At("F1", 10, float64(cells[i].(int)), y, cells[i+1].(string)))
		}
		return b.String()
	}
	body := extracttest.PDFLines("F1", 10, 72, 300, bodyOfPage, "it goes on for a second line and on to a third.", "And that is all.")
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
			if diff := cmp.Diff(append(tt.want, bodyText), blockLines(t, extracttest.PDFPages(tt.content+body))); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTablesThatOnlyTheirTextTells(t *testing.T) {
	t.Parallel()
	row := func(font string, y float64, cells ...any) string {
		var b strings.Builder
		for i := 0; i < len(cells); i += 2 {
			b.WriteString(extracttest.At(font, 10, float64(cells[i].(int)), y, cells[i+1].(string)))
		}
		return b.String()
	}
	rules := func(x0, x1 float64, ys ...float64) string {
		var lines [][4]float64
		for _, y := range ys {
			lines = append(lines, [4]float64{x0, y, x1, y})
		}
		return strokes(lines...)
	}
	body := extracttest.PDFLines("F1", 10, 72, 300, bodyOfPage, "it goes on for a second line and on to a third.", "And that is all.")
	const bodyText = "p: " + bodyOfPage + " it goes on for a second line and on to a third. And that is all."
	threeLevels := row("F2", 684, 72, "Plant", 320, "Crew") + row("F2", 700, 140, "Output") + row("F2", 684, 140, "May", 230, "June") +
		row("F2", 668, 140, "wet", 185, "dry", 230, "wet", 275, "dry") +
		row("F1", 652, 72, "Oak", 140, "31", 185, "32", 230, "33", 275, "34", 320, "8") + row("F1", 636, 72, "Elm", 140, "41", 185, "42", 230, "43", 275, "44", 320, "9")
	threeLevelRows := []string{"tr: Plant\tOutput May wet\tOutput May dry\tOutput June wet\tOutput June dry\tCrew",
		"tr: Plant: Oak; Output May wet: 31; Output May dry: 32; Output June wet: 33; Output June dry: 34; Crew: 8",
		"tr: Plant: Elm; Output May wet: 41; Output May dry: 42; Output June wet: 43; Output June dry: 44; Crew: 9"}
	rowSpans := row("F2", 700, 72, "River", 140, "Town", 220, "Height") + row("F1", 684, 140, "Wels", 220, "317") + row("F1", 668, 72, "Danube", 140, "Linz", 220, "266") +
		row("F1", 652, 140, "Krems", 220, "203") + row("F1", 636, 140, "Graz", 220, "353") + row("F1", 628, 72, "Mur") + row("F1", 620, 140, "Bruck", 220, "487")
	rowSpanRows := []string{"tr: River\tTown\tHeight", "tr: River: Danube; Town: Wels; Height: 317", "tr: River: Danube; Town: Linz; Height: 266",
		"tr: River: Danube; Town: Krems; Height: 203", "tr: River: Mur; Town: Graz; Height: 353", "tr: River: Mur; Town: Bruck; Height: 487"}
	tests := map[string]struct {
		content string
		want    []string
	}{
		"names of three levels":                      {threeLevels, threeLevelRows},
		"names of three levels, rules between rows":  {threeLevels + rules(70, 345, 712, 664, 648, 632), threeLevelRows},
		"names that reach over rows":                 {rowSpans, rowSpanRows},
		"names that reach over rows, and end a rule": {rowSpans + rules(70, 260, 696, 648, 616) + rules(138, 260, 680, 664, 632), rowSpanRows},
		"properties and values with colons":          {row("F1", 700, 72, "Buyer:", 112, "Hill Ltd") + row("F1", 684, 72, "Vessel:", 112, "Ann") + row("F1", 668, 72, "Berth:", 112, "14"), []string{"tr: Buyer: Hill Ltd", "tr: Vessel: Ann", "tr: Berth: 14"}},
		"two properties in a row": {
			row("F1", 700, 72, "Buyer:", 150, "Hill Ltd", 250, "Ship:", 320, "Ann") + row("F1", 684, 72, "Berth:", 150, "14", 250, "Master:", 320, "J. Roe"),
			[]string{"tr: Buyer: Hill Ltd; Ship: Ann", "tr: Berth: 14; Master: J. Roe"}},
		"names closer than values, no name over the first column": {
			row("F1", 700, 142, "Loops", 176, "Trees") + row("F1", 684, 72, "cube", 156, "25", 190, "27") + row("F1", 668, 72, "morph", 161, "5", 195, "8") +
				row("F1", 652, 72, "trace", 156, "10", 190, "25"),
			[]string{"tr: Loops\tTrees", "tr: cube; Loops: 25; Trees: 27", "tr: morph; Loops: 5; Trees: 8", "tr: trace; Loops: 10; Trees: 25"}},
		"rows of several lines with cells between one another's": {
			row("F1", 700, 72, "Governor", 250, "Measure 4") + row("F1", 684, 72, "Kay", 190, "247", 330, "96") + row("F1", 684, 150, "Red", 250, "Yes") +
				row("F1", 668, 72, "Brown", 190, "69", 330, "21") + row("F1", 668, 150, "Blue", 250, "No"),
			[]string{"tr: Governor\t\t\tMeasure 4", "tr: Kay\tRed\t247\tYes\t96", "tr: Brown\tBlue\t69\tNo\t21"}},
		"a formula is no header": {
			row("F1", 700, 72, "P = x.a", 180, "S = 0") + row("F1", 684, 180, "14") + row("F1", 668, 72, "map", 180, "25"),
			[]string{"p: P = x.a\tS = 0 14 map\t25"}},
		"a list is no table": {
			row("F1", 700, 72, "1)", 90, "Open the valve") + row("F1", 684, 72, "2)", 90, "Wait for 5 minutes") + row("F1", 668, 72, "3)", 90, "Close the valve"),
			[]string{"li1: 1) Open the valve", "li1: 2) Wait for 5 minutes", "li1: 3) Close the valve"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(append(tt.want[:len(tt.want):len(tt.want)], bodyText), blockLines(t, extracttest.PDFPages(tt.content+body))); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
		})
	}
}
