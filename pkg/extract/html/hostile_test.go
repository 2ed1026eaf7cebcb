package html_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/format"
)

// TestHostileFilesAreReadInTime reads files that would take minutes or all memory if reading took quadratic time.
func TestHostileFilesAreReadInTime(t *testing.T) {
	prose := "<p>" + strings.Repeat("This is a sentence of the page that says something. ", 40) + "</p>"
	long := strings.Repeat("a", 4<<20)
	for name, file := range map[string]struct{ name, data string }{
		"a long class around many articles":   {"a.html", prose + `<div class="comment ` + long + `">` + strings.Repeat("<article></article>", 100_000)},
		"a long class around hidden elements": {"a.html", prose + `<div class="` + long + `">` + strings.Repeat(`<p>q</p><div hidden>aa bb</div>`, 10_000)},
		"a long button of many panels":        {"a.html", "<h1>T</h1>" + prose + `<button data-target="#x">a` + strings.Repeat(" -", 2<<20) + `</button>` + strings.Repeat(`<div id=x>some words</div>`, 20_000)},
		"many links in nested elements":       {"a.html", "<h2>Title</h2>" + prose + strings.Repeat(`<div><a href="#y">abc</a>`, 240) + strings.Repeat(`<a href="#x">xyz</a>`, 100_000)},
		"linked data on a page of empty elements": {"a.html", `<script type="application/ld+json">{"@type":"FAQPage","x":[` + strings.Repeat(`{"text":"<b></b>"},`, 20_000) +
			`{}]}</script><p>hi</p>` + strings.Repeat("<i></i>", 200_000)},
		"header fields of many lines": {"a.eml", "From: a@b.c\nMIME-Version: 1.0\nContent-Type: multipart/digest; boundary=b\n\n" +
			strings.Repeat("--b\n\nA: b\n"+strings.Repeat(" c\n", 21_000)+"\nx\n", 300) + "--b--\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := extract.Parse(ctx, format.Source{Data: strings.NewReader(file.data), Size: int64(len(file.data)), Name: file.name}, format.Limits{})
			var refused *format.Error
			if ctx.Err() != nil || err != nil && !errors.As(err, &refused) {
				t.Error(err)
			}
		})
	}
}
