package extract

import (
	"fmt"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// blockLines writes the blocks of a document one to a line, as "heading 1 on 2 row 3: text <link>".
func blockLines(doc *domain.Document) string {
	var b strings.Builder
	for i, bl := range doc.Blocks {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(string(bl.Kind))
		if bl.Level > 0 {
			fmt.Fprintf(&b, " %d", bl.Level)
		}
		if bl.Page > 0 {
			fmt.Fprintf(&b, " on %d", bl.Page)
		}
		if bl.Row > 0 {
			fmt.Fprintf(&b, " row %d", bl.Row)
		}
		fmt.Fprintf(&b, ": %s", bl.Text)
		for _, l := range bl.Links {
			fmt.Fprintf(&b, " <%s=%s>", l.Text, l.URL)
		}
	}
	return b.String()
}
