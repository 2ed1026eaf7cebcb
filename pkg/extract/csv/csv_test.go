package csv_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/extract/csv"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

func TestSeparatedValuesAreReadAsProgramsWriteThem(t *testing.T) {
	t.Parallel()
	const want = "table_row row 1: name\tage\ntable_row row 2: name: Ann; age: 31\ntable_row row 3: name: Ben; age: 29"
	tests := map[string]struct{ text, want string }{
		"commas":                          {"name,age\nAnn,31\nBen,29\n", want},
		"semicolons":                      {"name;age\r\nAnn;31\r\nBen;29", want},
		"tabs":                            {"name\tage\rAnn\t31\rBen\t29", want},
		"pipes":                           {"name|age\nAnn|31\nBen|29", want},
		"colons":                          {"name:age\nAnn:31\nBen:29", want},
		"decimal commas":                  {"name;price\nAnn;1,50\nBen;2,75\nCem;3,25", "table_row row 1: name\tprice\ntable_row row 2: name: Ann; price: 1,50\ntable_row row 3: name: Ben; price: 2,75\ntable_row row 4: name: Cem; price: 3,25"},
		"times in comma rows":             {"name,at\nAnn,12:30\nBen,13:45", "table_row row 1: name\tat\ntable_row row 2: name: Ann; at: 12:30\ntable_row row 3: name: Ben; at: 13:45"},
		"a line that names the separator": {"sep=;\nname;age\nAnn;31", "table_row row 2: name\tage\ntable_row row 3: name: Ann; age: 31"},
		"quotes, separators and line ends within fields": {"name,note\nAnn,\"a \"\"b\"\",\nc\"\nBen,d 5", "table_row row 1: name\tnote\ntable_row row 2: name: Ann; note: a \"b\", c\ntable_row row 4: name: Ben; note: d 5"},
		"quotes that nothing closes":                     {"name,size\nAnn,\"5\nBen,6\" disk\nCem,7", "table_row row 1: name\tsize\ntable_row row 2: name: Ann; size: \"5\ntable_row row 3: name: Ben; size: 6\" disk\ntable_row row 4: name: Cem; size: 7"},
		"quotes within quotes":                           {"name,note\nAnn,\"say \"hi\" now\"\nBen,7", "table_row row 1: name\tnote\ntable_row row 2: name: Ann; note: say \"hi\" now\ntable_row row 3: name: Ben; note: 7"},
		"quotes after backslashes":                       {"name,note\nAnn,\"say \\\"hi\\\", then go\"\nBen,\"a\\\\b\"", "table_row row 1: name\tnote\ntable_row row 2: name: Ann; note: say \"hi\", then go\ntable_row row 3: name: Ben; note: a\\b"},
		"a folder that ends in a backslash":              {"name,folder\nAnn,\"C:\\tmp\\\"\nBen,\"D:\\\"", "table_row row 1: name\tfolder\ntable_row row 2: name: Ann; folder: C:\\tmp\\\ntable_row row 3: name: Ben; folder: D:\\"},
		"zero bytes":                                     {"name,age\x00\nAnn\x00,31\nJ\xf6rg\x00\x00,29", "table_row row 1: name\tage\ntable_row row 2: name: Ann; age: 31\ntable_row row 3: name: Jörg; age: 29"},
		"another table after an empty line":              {"name,age\nAnn,31\nBen,29\n\ncity,size,mayor\nOslo,9,Bo\nRome,8,Al", "table_row row 1: name\tage\ntable_row row 2: name: Ann; age: 31\ntable_row row 3: name: Ben; age: 29\ntable_row row 5: city\tsize\tmayor\ntable_row row 6: city: Oslo; size: 9; mayor: Bo\ntable_row row 7: city: Rome; size: 8; mayor: Al"},
		"lines that are spaced":                          {"name,age\n\nAnn,31\n\nBen,29\n", "table_row row 1: name\tage\ntable_row row 3: name: Ann; age: 31\ntable_row row 5: name: Ben; age: 29"},
		"Greek questions":                                {"Πώς πληρώνω;,Με κάρτα.\nΠού είστε;,Στην Πάτρα.", "table_row row 1: Πώς πληρώνω; Με κάρτα.\ntable_row row 2: Πού είστε; Στην Πάτρα."},
		"comments above the table":                       {"# Source: registry\n#\nname,age\nAnn,31", "paragraph row 1: Source: registry\ntable_row row 3: name\tage\ntable_row row 4: name: Ann; age: 31"},
		"a header row behind a mark":                     {"#name,age\nAnn,31\nBen,29", want},
		"a title above the table":                        {"Staff of 2024\n\nname,age\nAnn,31", "table_row row 1: Staff of 2024\ntable_row row 3: name\tage\ntable_row row 4: name: Ann; age: 31"},
		"rows of more and fewer cells":                   {"name,age\nAnn\nBen,29,left", "table_row row 1: name\tage\ntable_row row 2: name: Ann\ntable_row row 3: name: Ben; age: 29; left"},
		"columns without a name":                         {"name,,age\nAnn,x,31", "table_row row 1: name\t\tage\ntable_row row 2: name: Ann; x; age: 31"},
		"the header once more":                           {"name,age\nAnn,31\nname,age\nBen,29", "table_row row 1: name\tage\ntable_row row 2: name: Ann; age: 31\ntable_row row 3: name\tage\ntable_row row 4: name: Ben; age: 29"},
		"headings between rows":                          {",name,age,city\n,Staff\n,Ann,31,Oslo\n", "table_row row 1: name\tage\tcity\ntable_row row 2: Staff\ntable_row row 3: name: Ann; age: 31; city: Oslo"},
		"no header":                                      {"Ann,31\nBen,29", "table_row row 1: Ann: 31\ntable_row row 2: Ben: 29"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := readtest.Parse(t, "a.csv", []byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, readtest.Lines(doc)); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnOpenQuoteCostsNoRow(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("name,size\n")
	for range 20_000 {
		b.WriteString("\"a\",\"5 inch\n")
	}
	doc, err := readtest.Parse(t, "a.csv", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Blocks) != 20_001 {
		t.Errorf("%d rows were read, want 20001", len(doc.Blocks))
	}
	if len(doc.Warnings) != 1 || !strings.Contains(doc.Warnings[0], "line 2") {
		t.Errorf("warnings = %q, want one that names line 2", doc.Warnings)
	}
}

func TestAQuotedFieldMayGoOnOverManyLines(t *testing.T) {
	t.Parallel()
	const lines = csv.MaxRecordLines - 1
	note := strings.Repeat("say \"\"hi\"\" now\n", lines)
	doc, err := readtest.Parse(t, "a.csv", []byte("name,note\nAnn,\""+note+"\"\nBen,7\n"))
	if err != nil {
		t.Fatal(err)
	}
	last := doc.Blocks[len(doc.Blocks)-1]
	if last.Text != "name: Ben; note: 7" || last.Row != lines+3 {
		t.Errorf("the last row is %q in line %d, want Ben's in line %d", last.Text, last.Row, lines+3)
	}
	if got := strings.Count(doc.Blocks[1].Text, `say "hi" now`); got != lines {
		t.Errorf("%d lines of the field were read, want %d", got, lines)
	}
}
