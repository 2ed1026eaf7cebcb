package xlsx

import (
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/extract/format"
)

func TestNumbersAreShownAsTheirFormatsSay(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		code, value, want string
		date1904          bool
	}{
		"grouped digits":                           {code: "#,##0.00", value: "1234567.891", want: "1,234,567.89"},
		"halves are rounded up as they are read":   {code: "0.00", value: "1.005", want: "1.01"},
		"rounding that reaches the first digit":    {code: "0.0", value: "99.95", want: "100.0"},
		"zeros before a short number":              {code: "0000000", value: "4711", want: "0004711"},
		"groups within zeros":                      {code: "0,000.0", value: "5", want: "0,005.0"},
		"digits that need not be there":            {code: "0.0##", value: "2.5", want: "2.5"},
		"no digit at all":                          {code: "#.00", value: "0.5", want: ".50"},
		"a percentage after a space":               {code: "0.0 %", value: "0.125", want: "12.5 %"},
		"thousands":                                {code: `#,##0,"K"`, value: "1234567", want: "1,235K"},
		"millions":                                 {code: `0.0,,"M"`, value: "1234567", want: "1.2M"},
		"text within the digits":                   {code: `000\-00\-0000`, value: "123456789", want: "123-45-6789"},
		"text before and after the point":          {code: `0\ "dollars and"\ .00\ "cents"`, value: "19.989999999999998", want: "19 dollars and .99 cents"},
		"text after the number as it is":           {code: `General" kg"`, value: "2.5", want: "2.5 kg"},
		"a power of ten":                           {code: "0.00E+00", value: "198356388", want: "1.98E+08"},
		"a power of ten that rounding raises":      {code: "0.0E+00", value: "9.96", want: "1.0E+01"},
		"powers of a thousand":                     {code: "##0.0E+0", value: "12345678", want: "12.3E+6"},
		"a power below one":                        {code: "0.0E-0", value: "0.00012", want: "1.2E-4"},
		"a fraction":                               {code: "# ?/?", value: "2.5", want: "2 1/2"},
		"a number below zero":                      {code: "0.00", value: "-3.14159", want: "-3.14"},
		"brackets for below zero":                  {code: `"$"#,##0.00_);[Red]\("$"#,##0.00\)`, value: "-1599.99", want: "($1,599.99)"},
		"a dash for zero":                          {code: `_(* #,##0_);_(* \(#,##0\);_(* "-"_);_(@_)`, value: "0", want: "-"},
		"a section for text alone":                 {code: "0.0;@", value: "-1.25", want: "-1.3"},
		"a currency with its language":             {code: "[$€-407] #,##0.00", value: "5", want: "€ 5.00"},
		"a condition that holds":                   {code: `[<10]#" few"`, value: "1.5", want: "2 few"},
		"a condition that does not":                {code: `[<10]#" few"`, value: "11", want: "11"},
		"a condition written with spaces":          {code: `[>=   10]#" many"`, value: "10", want: "10 many"},
		"two conditions":                           {code: `[=1]"yes";[=0]"no";0`, value: "0", want: "no"},
		"neither of two conditions":                {code: `[=1]"yes";[=0]"no";0`, value: "-7", want: "-7"},
		"the rest after a condition":               {code: `[>=1000]#,##0,"K";0`, value: "-60", want: "-60"},
		"thousandths of a second":                  {code: `dd\-mmm\-yyyy\ hh:mm:ss.000`, value: "36191.170208437499", date1904: true, want: "01-Feb-2003 04:05:06.009"},
		"hundredths of a second":                   {code: "h:m:s.00", value: "36191.170208437499", want: "4:5:6.01"},
		"fractions of a second beside the half":    {code: "h:m:s.00 a/p", value: "36191.170208437499", want: "4:5:6.01 a"},
		"halves of the day in the sheet's letters": {code: "h:mm am/pm", value: "0.75", want: "6:00 PM"},
		"midnight":                                 {code: "h AM/PM", value: "1", want: "12 AM"},
		"a second that is nearly over":             {code: "h:mm:ss", value: "0.49999999", want: "12:00:00"},
		"hours of several days":                    {code: "[h]:mm", value: "1.5", want: "36:00"},
		"minutes before seconds":                   {code: "mm:ss.0", value: "0.0009", want: "01:17.8"},
		"months beside minutes":                    {code: "m/d h:m", value: "45418.5", want: "5/6 12:0"},
		"words within a date":                      {code: `"At"\ h:mm\ AM/PM\ "on"\ dddd\ mmmm\ d","\ yyyy`, value: "39219.18056369212", want: "At 4:20 AM on Thursday May 17, 2007"},
		"points in a date":                         {code: "dd.mm.yy", value: "45418", want: "06.05.24"},
		"characters of another script":             {code: `yyyy"年"m"月"d"日"`, value: "45418", want: "2024年5月6日"},
		"names of months in their language":        {code: "[$-407]d. mmmm yyyy", value: "45418", want: "6. Mai 2024"},
		"the day that never was":                   {code: "yyyy-mm-dd", value: "60", want: "1900-02-29"},
		"the day before the first":                 {code: "yyyy-mm-dd", value: "0", want: "1900-01-00"},
		"the last day":                             {code: "yyyy-mm-dd", value: "2958465", want: "9999-12-31"},
		"a date after the last":                    {code: "yyyy-mm-dd", value: "2958466", want: "2958466"},
		"the last day, rounded beyond its end":     {code: "yyyy-mm-dd hh:mm", value: "2958465.9999999", want: "2958465.9999999"},
		"a fraction whose format is too long":      {code: "# ?/" + strings.Repeat("?", maxForeignCode), value: "2.5", want: "2.5"},
		"a date before the first":                  {code: "yyyy-mm-dd", value: "-1", want: "-1"},
		"a bracket that is never closed":           {code: "0[x", value: "5", want: "5[x"},
		"a quotation that is never closed":         {code: `0"x`, value: "5", want: "5x"},
		"an escape of nothing":                     {code: `0\`, value: "5", want: "5"},
		"more digits than are kept":                {code: "0." + strings.Repeat("0", 40), value: "0.1", want: "0.1" + strings.Repeat("0", maxDigits-1)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &sheetStyles{formats: []string{tt.code}, columns: map[string]string{}, codes: map[string]numberCode{}, shown: map[[2]string]string{}, date1904: tt.date1904}
			defer s.close()
			if got := format.OneLine(s.show(tt.value, 0)); got != tt.want {
				t.Errorf("show(%s) by %q = %q, want %q", tt.value, tt.code, got, tt.want)
			}
		})
	}
}

func FuzzNumberFormat(f *testing.F) {
	for _, code := range []string{"0.00", "#,##0.0,;(0)", "[<10]0;[>=5]0%", "##0.0E+0", "[h]:mm:ss.000 AM/PM", `"x"0\-?`, "[$-409]d mmm yy;@", "_(* 0_)"} {
		f.Add(code, 45418.75)
	}
	f.Fuzz(func(t *testing.T, code string, n float64) {
		section, signed := parseCode(format.Cut(code, 1<<10)).sectionFor(n)
		if section == nil || section.needsExcelize || n != n || n > 1e308 || n < -1e308 {
			return
		}
		text, ok := section.date(n, false)
		if !section.dated || !ok {
			text = section.number(n, signed)
		}
		if len(text) > 4096+len(code)*40 {
			t.Errorf("%d bytes of a number by %q", len(text), code)
		}
	})
}
