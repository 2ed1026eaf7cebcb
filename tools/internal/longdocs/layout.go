package longdocs

import (
	"fmt"
	"html"
	"strings"
)

// Number of characters after which a new page begins.
const charactersPerPage = 2800

// layout writes a document as plain text with pages, as a web page whose headings are bold paragraphs, or as Markdown.
type layout struct {
	file string
	kind string // the file's extension
	out  strings.Builder
	page int // current page of a plain text, from 1
	used int // characters on that page so far
}

func newLayout(kind, name string) *layout {
	l := &layout{file: name + kind, kind: kind, page: 1}
	if kind == ".html" {
		l.out.WriteString("<html><head><title>" + name + "</title></head><body>\n")
	}
	return l
}

func (l *layout) name() string { return l.file }

func (l *layout) document() Document {
	if l.kind == ".html" {
		l.out.WriteString("</body></html>\n")
	}
	return Document{Name: l.file, Text: l.out.String()}
}

// write adds a paragraph. The caller passes it as plain text (`plain`), HTML (`page`) and Markdown (`markdown`), and
// write uses the one that fits the document's type.
func (l *layout) write(plain, page, markdown string) {
	text := map[string]string{".txt": plain, ".html": page, ".md": markdown}[l.kind]
	if l.used += len(text); l.kind == ".txt" && l.used > charactersPerPage {
		l.out.WriteString("\f")
		l.page, l.used = l.page+1, len(text)
	}
	l.out.WriteString(text + "\n\n")
}

func (l *layout) title(text string) {
	l.write(text, "<p align=\"center\"><b>"+html.EscapeString(text)+"</b></p>", "# "+text)
}

func (l *layout) text(text string) { l.write(text, "<p>"+html.EscapeString(text)+"</p>", text) }

// article begins a numbered group of clauses.
func (l *layout) article(number int, title string) {
	upper := strings.ToUpper(title)
	l.write(fmt.Sprintf("ARTICLE %d\n%s", number, upper),
		fmt.Sprintf("<p align=\"center\"><b>ARTICLE %d<br>%s</b></p>", number, html.EscapeString(upper)),
		fmt.Sprintf("## %d. %s", number, title))
}

// clause adds a clause. Its number and title are on the same line as the start of its text.
func (l *layout) clause(number, title, text string) {
	lead := strings.TrimSpace(number + " " + title)
	switch {
	case title != "":
		l.write(lead+". "+text, "<p><b>"+html.EscapeString(lead)+".</b> "+html.EscapeString(text)+"</p>", "### "+lead+"\n\n"+text)
	default:
		l.write(strings.TrimSpace(lead+" "+text), "<p>"+html.EscapeString(strings.TrimSpace(lead+" "+text))+"</p>", strings.TrimSpace(lead+" "+text))
	}
}

// table adds a table with a caption. As in annual reports' web pages, an amount's currency sign and closing parenthesis
// are in cells of their own.
func (l *layout) table(caption string, rows [][]string) {
	if l.kind != ".html" {
		var md, text strings.Builder
		for i, row := range rows {
			md.WriteString("| " + strings.Join(row, " | ") + " |\n")
			text.WriteString(strings.Join(row, "   ") + "\n")
			if i == 0 {
				md.WriteString(strings.Repeat("|---", len(row)) + "|\n")
			}
		}
		l.text(caption)
		l.write(text.String(), "", md.String())
		return
	}
	l.text(caption)
	l.out.WriteString("<table>\n")
	for _, row := range rows {
		l.out.WriteString("<tr>")
		for i, cell := range row {
			switch {
			case i == 0:
				l.out.WriteString("<td>" + html.EscapeString(cell) + "</td>")
			case strings.HasPrefix(cell, "("):
				l.out.WriteString("<td></td><td>" + strings.TrimSuffix(cell, ")") + "</td><td>)</td>")
			case strings.HasPrefix(cell, "$"):
				l.out.WriteString("<td>$</td><td>" + cell[1:] + "</td><td></td>")
			default:
				l.out.WriteString("<td></td><td>" + html.EscapeString(cell) + "</td><td></td>")
			}
		}
		l.out.WriteString("</tr>\n")
	}
	l.out.WriteString("</table>\n")
}
