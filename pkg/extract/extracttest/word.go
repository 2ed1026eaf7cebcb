package extracttest

import (
	"strings"
	"testing"
)

const wordRoot = `<w:document xmlns:w="w" xmlns:r="r" xmlns:v="v" xmlns:a="a" xmlns:c="c" xmlns:mc="mc" xmlns:wps="wps" xmlns:wp="wp" xmlns:m="m"><w:body>`

// Word returns a docx document with the given body and additional parts.
func Word(t testing.TB, body string, parts ...Part) []byte {
	t.Helper()
	return Office(t, append([]Part{{"word/document.xml", wordRoot + body + `</w:body></w:document>`}}, parts...)...)
}

// WordPara returns a paragraph with the text. `props` are added to the paragraph's properties.
func WordPara(props, text string) string {
	return `<w:p><w:pPr>` + props + `</w:pPr><w:r><w:t xml:space="preserve">` + text + `</w:t></w:r></w:p>`
}

// WordRun returns a run with the text.
func WordRun(text string) string { return `<w:r><w:t xml:space="preserve">` + text + `</w:t></w:r>` }

// WordRow returns a table row. "2:text" is a cell that spans two columns.
func WordRow(cells ...string) string {
	var b strings.Builder
	for _, c := range cells {
		properties := ""
		if text, ok := strings.CutPrefix(c, "2:"); ok {
			c, properties = text, `<w:tcPr><w:gridSpan w:val="2"/></w:tcPr>`
		}
		b.WriteString(`<w:tc>` + properties + WordPara("", c) + `</w:tc>`)
	}
	return `<w:tr>` + b.String() + `</w:tr>`
}
