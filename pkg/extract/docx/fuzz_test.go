package docx_test

import (
	"testing"

	"github.com/sluice/sluice/pkg/extract/readtest"
)

func FuzzDocx(f *testing.F) { readtest.Parts(f, ".docx", "word/document.xml", "word/styles.xml") }
