package json_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/extract/readtest"
)

func TestJSONIsReadAsRecords(t *testing.T) {
	t.Parallel()
	var numbers []string
	for i := range 100 {
		numbers = append(numbers, "["+strconv.Itoa(i)+".5, 7]")
	}
	tests := map[string]struct{ text, want, warning string }{
		"names and values of an object":  {`{"a": "x", "b": 1.50, "c": true, "d": null, "e": ""}`, "paragraph: a: x\nb: 1.50\nc: true", ""},
		"objects below are sections":     {`{"a": {"b": "x", "empty": {}}}`, "heading 1: a\nparagraph: b: x", ""},
		"objects in arrays are rows":     {`[{"a": 1, "b": {"c": 2, "d": 3}}, {"a": 4}]`, "table_row: a: 1; b.c: 2; b.d: 3\ntable_row: a: 4", ""},
		"lines are rows with numbers":    {"{\"a\": 1}\n\n{\"a\": 2}\n", "table_row row 1: a: 1\ntable_row row 3: a: 2", ""},
		"values without line ends":       {`{"a": 1}{"a": 2}`, "table_row row 1: a: 1\ntable_row row 1: a: 2", ""},
		"numbers stay as they are":       {`{"a": 12345678901234567890123, "b": 1e400, "c": -0.10}`, "paragraph: a: 12345678901234567890123\nb: 1e400\nc: -0.10", ""},
		"a name given twice":             {`{"a": 1, "a": 2}`, "paragraph: a: 1\na: 2", ""},
		"escapes":                        {`{"a": "\u00e9\ud83d\ude00\/\n\"x\" \ud800 \uZZ"}`, "paragraph: a: é😀/\n\"x\" \uFFFD \\uZZ", ""},
		"comments and trailing commas":   {"// settings\n{\"a\": 1, /* x */ 'b': 'y', c: 3,}", "paragraph: a: 1\nb: y\nc: 3", ""},
		"arrays of words":                {`{"a": ["x", "y", 3, true]}`, "heading 1: a\nparagraph: x, y, 3, true", ""},
		"arrays of arrays are rows":      {`[["Ann", 31], ["Ben", 29]]`, "table_row: Ann, 31\ntable_row: Ben, 29", ""},
		"many numbers are shortened":     {`[{"name": "path", "at": [` + strings.Join(numbers, ",") + `], "end": 1}]`, "table_row: name: path; at: 0.5, 7, 1.5, 7, 2.5, 7, 3.5, 7, … (200 numbers); end: 1", ""},
		"encoded data is left out":       {`{"a": "x", "b": "` + strings.Repeat("QUJD", 300) + `"}`, "paragraph: a: x", "encoded data"},
		"a file cut short keeps its top": {`{"a": "x", "b": {"c": "y", "d": "z`, "paragraph: a: x\nheading 1: b\nparagraph: c: y", "the file ends in the middle"},
		"what is not JSON is text":       {"[see below] or not", "paragraph: [see below] or not", "not valid JSON"},
		"a word alone is text":           {`"all is well"`, "paragraph: \"all is well\"", ""},
		"a record that is broken":        {"{\"a\": 1}\n{\"a\": oops 2\n{\"a\": 3}\n", "table_row row 1: a: 1\nparagraph: oops 2\n{\"a\": 3}", "the JSON is invalid on line 2"},
		"UTF-16":                         {"\xff\xfe{\x00\"\x00a\x00\"\x00:\x001\x00}\x00", "paragraph: a: 1", ""},
		"records marked by RFC 7464":     {"\x1e{\"a\": 1}\n\x1e{\"a\": 2}\n", "table_row row 1: a: 1\ntable_row row 2: a: 2", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := readtest.Parse(t, "a.json", []byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, readtest.Lines(doc)); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
			if got := strings.Join(doc.Warnings, "\n"); tt.warning == "" && got != "" || !strings.Contains(got, tt.warning) {
				t.Errorf("warnings = %q, want %q", got, tt.warning)
			}
		})
	}
}

func TestJSONBrokenNearItsEndKeepsItsRecords(t *testing.T) {
	t.Parallel()
	text := "[" + strings.Repeat("{\"name\": \"Ann\"},\n", 10_000) + "{\"name\" oops\n\nthe rest"
	doc, err := readtest.Parse(t, "a.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Blocks) < 10_001 || doc.Blocks[0].Text != "name: Ann" || doc.Blocks[len(doc.Blocks)-1].Text != "the rest" {
		t.Errorf("%d blocks, the last %q", len(doc.Blocks), doc.Blocks[len(doc.Blocks)-1].Text)
	}
	if len(doc.Warnings) != 1 || !strings.Contains(doc.Warnings[0], "line 10001") {
		t.Errorf("warnings = %q, want one that names the line", doc.Warnings)
	}
}
