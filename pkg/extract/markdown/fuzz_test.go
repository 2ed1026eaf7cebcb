package markdown_test

import (
	"testing"

	"github.com/sluice/sluice/pkg/extract/readtest"
)

func FuzzMarkdown(f *testing.F) {
	readtest.Format(f, ".md", "+++\ntitle = \"x\"\n+++\n> - 1. a", "|a|\n|-|\n|")
}
