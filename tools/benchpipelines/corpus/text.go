package corpus

import (
	"bytes"
	encodingcsv "encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

func figure(hundredths int) string { return strconv.FormatFloat(float64(hundredths)/100, 'f', 2, 64) }

func plain(a *author, words int) ([]byte, error) {
	var b bytes.Buffer
	for _, s := range a.sections(words) {
		fmt.Fprintf(&b, "%s\n\n%s\n\n", s.title, strings.Join(s.paragraphs, "\n\n"))
		for _, item := range s.items {
			fmt.Fprintf(&b, "- %s\n", item)
		}
		b.WriteByte('\n')
	}
	return b.Bytes(), nil
}

func markdown(a *author, words int) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\n", a.title())
	for _, s := range a.sections(words) {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", s.title, strings.Join(s.paragraphs, "\n\n"))
		for _, item := range s.items {
			fmt.Fprintf(&b, "- %s\n", item)
		}
		for i, row := range s.table {
			if i == 1 {
				b.WriteString(strings.Repeat("| --- ", len(row)) + "|\n")
			}
			b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		}
		b.WriteByte('\n')
	}
	return b.Bytes(), nil
}

// html returns a web page with a menu, content and a footer.
func html(a *author, words int) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>%s</title><style>nav li { float: left }</style></head>\n<body><nav><ul>", a.title())
	for range 12 {
		fmt.Fprintf(&b, "<li><a href=\"/%s\">%s</a></li>", a.word(), a.title())
	}
	fmt.Fprintf(&b, "</ul></nav>\n<main><article><h1>%s</h1>\n", a.title())
	for _, s := range a.sections(words) {
		fmt.Fprintf(&b, "<h2>%s</h2>\n", s.title)
		for _, p := range s.paragraphs {
			fmt.Fprintf(&b, "<p>%s</p>\n", p)
		}
		if len(s.items) > 0 {
			fmt.Fprintf(&b, "<ul><li>%s</li></ul>\n", strings.Join(s.items, "</li><li>"))
		}
		if len(s.table) > 0 {
			b.WriteString("<table>")
			for i, row := range s.table {
				cell := "td"
				if i == 0 {
					cell = "th"
				}
				fmt.Fprintf(&b, "<tr><%[1]s>%[2]s</%[1]s></tr>", cell, strings.Join(row, "</"+cell+"><"+cell+">"))
			}
			b.WriteString("</table>\n")
		}
	}
	fmt.Fprintf(&b, "</article></main><footer><p>%s</p></footer></body></html>\n", a.sentence())
	return b.Bytes(), nil
}

func csv(a *author, words int) ([]byte, error) {
	var b bytes.Buffer
	w := encodingcsv.NewWriter(&b)
	err := w.WriteAll(a.table(words/6+2, 5))
	return b.Bytes(), err
}

func jsonArray(a *author, words int) ([]byte, error) {
	type record struct {
		Name        string   `json:"name"`
		Description string   `json:"description"`
		Tags        []string `json:"tags"`
		Price       float64  `json:"price"`
	}
	var records []record
	for range words/60 + 1 {
		records = append(records, record{a.title(), a.paragraph(), []string{a.word(), a.word()}, float64(a.rng.IntN(100_000)) / 100})
	}
	return json.MarshalIndent(records, "", "  ")
}
