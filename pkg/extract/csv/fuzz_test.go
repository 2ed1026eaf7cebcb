package csv_test

import (
	"testing"

	"github.com/sluice/sluice/pkg/extract/readtest"
)

func FuzzCSV(f *testing.F) { readtest.Format(f, ".csv", "a,b\n\"1,2\n3", "sep=;\na;b\n1;2\n") }
