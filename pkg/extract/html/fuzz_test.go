package html_test

import (
	"testing"

	"github.com/sluice/sluice/pkg/extract/readtest"
)

func FuzzHTML(f *testing.F) {
	readtest.Format(f, ".html", "<table><tr><td><table><tr><td>x", "<ol><li>a<pre>b</ol><svg><p>")
}
