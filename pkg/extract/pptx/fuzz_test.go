package pptx_test

import (
	"testing"

	"github.com/sluice/sluice/pkg/extract/readtest"
)

func FuzzPptx(f *testing.F) {
	readtest.Parts(f, ".pptx", "ppt/slides/slide1.xml", "ppt/presentation.xml", "ppt/_rels/presentation.xml.rels")
}
