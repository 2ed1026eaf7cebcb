package ooxml

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
	"github.com/sluice/sluice/pkg/extract/zip"
)

func TestChartsAreTheirTitlesAndPoints(t *testing.T) {
	t.Parallel()
	points := func(texts ...string) string {
		var b strings.Builder
		for i, s := range texts {
			b.WriteString(`<pt idx="` + string(rune('0'+i)) + `"><v>` + s + `</v></pt>`)
		}
		return b.String()
	}
	tests := map[string]struct{ chart, want string }{
		"names written into the chart stay as they are written": {
			`<chart><ser><tx><v>2024.1000000000001</v></tx><cat><strLit>` + points("0012345678901", "1E5") + `</strLit></cat><val><numLit>` + points("4.4000000000000004", "7") + `</numLit></val></ser></chart>`,
			"2024.1000000000001/0012345678901; 2024.1000000000001: 4.4/1E5; 2024.1000000000001: 7"},
		"numbers that are categories are shown in their format": {
			`<chart><ser><tx><v>Rain</v></tx><cat><numRef><numCache><formatCode>d-mmm-yy</formatCode>` + points("45418") + `</numCache></numRef></cat><val><numRef><numCache>` + points("5") + `</numCache></numRef></val></ser></chart>`,
			"Rain/2024-05-06; Rain: 5"},
		"series of the newer kinds are called as they name themselves": {
			`<chartSpace><chartData><data id="0"><strDim><lvl><pt idx="0">North</pt><pt idx="1">South</pt></lvl></strDim><numDim><lvl><pt idx="0">1</pt><pt idx="1">2</pt></lvl></numDim></data>` +
				`<data id="1"><numDim><lvl><pt idx="0">3</pt><pt idx="1">4</pt></lvl></numDim></data></chartData>` +
				`<chart><series><tx><txData><f>B1</f><v>Plan</v></txData></tx><dataLabels><visibility/></dataLabels><dataId val="0"/></series><series><tx><txData><v>Actual</v></txData></tx><dataId val="1"/></series></chart></chartSpace>`,
			"Plan\tActual/North; Plan: 1; Actual: 3/South; Plan: 2; Actual: 4"},
		"a series without a name": {`<chart><ser><cat><strLit>` + points("North", "South") + `</strLit></cat><val><numLit>` + points("1", "2") + `</numLit></val></ser></chart>`, "North: 1/South: 2"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			a := NewPackage(&zip.Archive{P: &format.Parser{}})
			err := a.Chart(xmlscan.New(t.Context(), strings.NewReader(tt.chart)), 0, func(b domain.Block) error {
				got = append(got, b.Text)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, strings.TrimSpace(strings.Join(got, "/"))); diff != "" {
				t.Errorf("chart (-want +got):\n%s", diff)
			}
		})
	}
}
