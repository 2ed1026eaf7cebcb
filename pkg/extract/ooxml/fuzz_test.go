package ooxml_test

import (
	"testing"

	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

func FuzzFlatOPC(f *testing.F) { readtest.Format(f, ".flat", extracttest.FlatSample) }
