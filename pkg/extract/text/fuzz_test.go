package text_test

import (
	"testing"

	"github.com/sluice/sluice/pkg/extract/readtest"
)

func FuzzText(f *testing.F) { readtest.Format(f, ".txt", "\xff\xfea\x00b\x00", "\x1b$B$3$l\x1b(B") }
