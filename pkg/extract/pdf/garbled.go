package pdf

import (
	"github.com/sluice/sluice/pkg/extract/format"
)

// garbledPages lists the 1-based numbers of the pages whose text looks garbled.
type garbledPages struct {
	unmapped []int
	unlikely []int
}

func (g *garbledPages) add(number int, page page) {
	switch {
	case page.unknown.IsSignificant():
		if page.skipped != skipUnhelpful { // pages skipped for skipUnhelpful get a separate warning
			g.unmapped = append(g.unmapped, number)
		}
	case page.substituted:
		g.unlikely = append(g.unlikely, number)
	}
}

func (g *garbledPages) warn(out *format.Sink) {
	if n := len(g.unmapped); n > 0 {
		out.Warn(pageNumbers(g.unmapped) + ": a font has no usable character map; " + format.Plural(n, "its text", "their text") + " may be wrong or missing")
	}
	if n := len(g.unlikely); n > 0 {
		out.Warn(pageNumbers(g.unlikely) + ": the letters do not form words of a known language; a font may have a wrong character map, and " + format.Plural(n, "its text", "their text") + " may be wrong")
	}
}
