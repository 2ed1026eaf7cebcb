package json_test

import (
	"testing"

	"github.com/sluice/sluice/pkg/extract/readtest"
)

func FuzzJSON(f *testing.F) { readtest.Format(f, ".json", `[[[{"a":[1,{"b":null}]}]]]`, "{}\n{}") }
