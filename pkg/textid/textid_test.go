package textid_test

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/textid"
)

func TestVaryingTextIsIgnored(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{"Generated on 26 November 2026 at 13:04", "Generated on 27 November 2026 at 09:11"},
		{"Page generated at 2026-11-26 13:04:05.123456", "Page generated at 2026-11-26 13:04:06.9"},
		{"Rendered at 1795698245.123456", "Rendered at 1795698300.5"},
		{"Rendered at 1795698245", "Rendered at 1795698300"},
		{"Server time: 13:04:05 UTC", "Server time: 23:59:59 UTC"},
		{"Generated Thu, 26 Nov 2026 13:04:05 GMT", "Generated Fri, 27 Nov 2026 01:00:00 GMT"},
		{"Rendered Thu Nov  6 13:04:05 UTC 2026", "Rendered Fri Nov 27 14:04:05 UTC 2026"},
		{"Page time: Nov 26, 2026, 1:04:05 PM", "Page time: Nov 26, 2026, 1:04:09 PM"},
		{"Page generated on 26 November 2026", "Page generated on 27 November 2026"},
		{"Generated at 2026-11-26T13:04:05Z", "Generated at 2026-11-26T13:09:05Z"},
		{"Page généré le 26/11/2026 à 13:04", "Page généré le 27/11/2026 à 9:04"},
		{"Página generada el 26/11/2026", "Página generada el 27/11/2026"},
		{"Page rendered in 0.034 seconds", "Page rendered in 1.2 seconds"},
		{"Seite erzeugt am 26.11.2026 um 13:04 Uhr", "Seite erzeugt am 27.11.2026 um 09:04 Uhr"},
		{"Posted 3 minutes ago", "Posted 2 hours ago"},
		{"1,234 views", "1,235 views"},
		{"12.4k views", "12.5k views"},
		{"Visitors: 7", "Visitors: 8"},
		{"Page views: 12345", "Page views: 12346"},
		{"You are visitor number 12,345!", "You are visitor number 12,346!"},
		{"This page has been viewed 17 times.", "This page has been viewed 18 times."},
		{"Aufrufe: 17", "Aufrufe: 18"},
		{"17 queries in 0.2 seconds", "18 queries in 0.31 seconds"},
		{"Session ID: 0a1b2c3d4e5f60718293", "Session ID: 1a1b2c3d4e5f60718293"},
		{"Request ID: 17", "Request ID: 18"},
		{"Trace: 0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9", "Trace: 1a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f0"},
		{"Current time: 2026-11-26T13:04:05.123", "Current time: 2026-11-27T09:04:05.9"},
		{"Today is Thursday, 26 November 2026 13:04:05", "Today is Friday, 27 November 2026 09:00:01"},
		{"12 queries. 0.034 seconds.", "14 queries. 0.2 seconds."},
		{"Served by web-12", "Served by web-7"},
		{"Users online: 17", "Users online: 8"},
		{"3 users and 12 guests are browsing this forum", "1 user and 9 guests are browsing this forum"},
		{"Memory: 12.5 MB, Time: 0.12 s", "Memory: 13.25 MB, Time: 0.3 s"},
		{"Request ID: 4f1c09aa", "Request ID: 77ab12cd"},
		{"csrf_token=8a7b6c5d4e3f", "csrf_token=0a0b0c0d0e0f"},
	} {
		page := func(line string) string { return "Pumps need oil.\n" + line + "\nChange it yearly." }
		if a, b := textid.Hash("Pumps", page(pair[0])), textid.Hash("Pumps", page(pair[1])); a != b {
			t.Errorf("%q and %q are told apart: %q, %q", pair[0], pair[1], textid.RemoveVolatile(pair[0]), textid.RemoveVolatile(pair[1]))
		}
	}
}

func TestNewsIsPartOfTheText(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{"The pump costs 100 EUR.", "The pump costs 120 EUR."},
		{"Open from 9:00 to 17:00", "Open from 10:00 to 17:00"},
		{"The meeting is on 26 November 2026.", "The meeting is on 3 December 2026."},
		{"Time: 9:00", "Time: 18:00"},
		{"Today is the 26 November 2026", "Today is the 27 November 2026"},
		{"The local time is 9:00", "The local time is 10:00"},
		{"The plan has 5 users", "The plan has 6 users"},
		{"The event is online: 20 EUR", "The event is online: 25 EUR"},
		{"Memory: the first 5 pages", "Memory: the first 6 pages"},
		{"Meals served by 12 cooks", "Meals served by 13 cooks"},
		{"Time\n09:00:00", "Time\n18:00:00"},
		{"Start\n2026-11-26 09:00:00", "Start\n2026-11-27 18:00:00"},
		{"Uhrzeit: 19:00 Uhr", "Uhrzeit: 20:00 Uhr"},
		{"Opening time 9:00", "Opening time 10:00"},
		{"Local time: 9:00", "Local time: 10:00"},
		{"It is now 9:00", "It is now 10:00"},
		{"Now 19:00 instead of 18:00", "Now 20:00 instead of 18:00"},
		{"Price list as of 1 January 2026", "Price list as of 1 February 2026"},
		{"Printed 1 January 2026", "Printed 2 January 2026"},
		{"Updated: 2026-11-26", "Updated: 2026-11-27"},
		{"Last updated: 2026-11-26", "Last updated: 2026-12-01"},
		{"Zuletzt aktualisiert am 26.11.2026", "Zuletzt aktualisiert am 27.11.2026"},
		{"Mis à jour le 26/11/2026", "Mis à jour le 27/11/2026"},
		{"Dinner is served at 19:00", "Dinner is served at 20:00"},
		{"The power generated at 9:00 is sold.", "The power generated at 18:00 is sold."},
		{"Report generated on 1 January 2026", "Report generated on 1 February 2026"},
		{"Released Thu, 26 Nov 2026 13:04:05 GMT", "Released Fri, 27 Nov 2026 13:04:05 GMT"},
		{"Part 1795698245123", "Part 1795698300456"},
		{"Founded 20 years ago", "Founded 30 years ago"},
		{"The storm hits 5 towns.", "The storm hits 7 towns."},
		{"A course of 5 visits", "A course of 10 visits"},
		{"Up to 20 visitors", "Up to 30 visitors"},
		{"The request id required here", "The request id accepted here"},
		{"Session ID: 4711", "Session ID: 4712"},
		{"The house is built in 20 seconds", "The house is built in 30 seconds"},
		{"Kipchoge\t2:00:35", "Kipchoge\t1:59:40"},
		{"Version 1.2.3 was released on 2026-11-26.", "Version 1.2.4 was released on 2026-11-26."},
		{"10,000 visits per month", "20,000 visits per month"},
		{"up to 500 views/day", "up to 900 views/day"},
		{"SHA-256: 0a1b2c3d4e5f60718293a4b5c6d7e8f9", "SHA-256: 1a1b2c3d4e5f60718293a4b5c6d7e8f9"},
		{"Call 030 1234567", "Call 030 7654321"},
		{"As of 2026 the limit is 10.", "As of 2026 the limit is 12."},
	} {
		if textid.Hash("", pair[0]) == textid.Hash("", pair[1]) {
			t.Errorf("%q and %q are taken for the same: %q", pair[0], pair[1], textid.RemoveVolatile(pair[0]))
		}
		if textid.RemoveVolatileStrict(pair[0]) == textid.RemoveVolatileStrict(pair[1]) {
			t.Errorf("%q is taken for unchanged as %q: %q", pair[0], pair[1], textid.RemoveVolatileStrict(pair[0]))
		}
	}
	if textid.Hash("One", "text") == textid.Hash("Two", "text") {
		t.Error("two titles make no difference")
	}
	if textid.Hash("Pumps", " \n*\n") != "" {
		t.Error("a text without words has a hash")
	}
}

func TestSteadyStrictKeepsWhatMayBeAFact(t *testing.T) {
	t.Parallel()
	for text, struck := range map[string]bool{
		"Page generated at 2026-11-26 13:04:05.1": true,
		"Page generated on 26 November 2026":      true,
		"Server time: 13:04:05":                   true,
		"Page rendered in 0.034 seconds":          true,
		"1,234 views":                             true,
		"Page views: 7":                           true,
		"You are visitor number 12,345!":          true,
		"Viewed 17 times":                         true,
		"Request ID: 4f1c09aa":                    true,
		"csrf_token=8a7b6c5d4e3f":                 true,
		"csrf token: abcdefgh":                    true,
		"nonce=8a7b6c5d":                          true,
		"Posted 3 minutes ago":                    false,
		"Take it 2 hours ago":                     false,
		"Visitors: 20":                            false,
		"Visited 17 times":                        false,
	} {
		if got := strings.Contains(textid.RemoveVolatileStrict(text), "…"); got != struck {
			t.Errorf("%q becomes %q", text, textid.RemoveVolatileStrict(text))
		}
		if !strings.Contains(textid.RemoveVolatile(text), "…") {
			t.Errorf("%q stays in the comparison of two pages", text)
		}
	}
}

// words returns n pseudo-random words. The same seed always gives the same words.
func words(seed int64, n int) []string {
	r := rand.New(rand.NewSource(seed))
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("w%d", r.Intn(2_000))
	}
	return out
}

func TestTextsAreAlikeThatShareFourFifthsOfTheirShingles(t *testing.T) {
	t.Parallel()
	text := func(w ...[]string) string {
		var all []string
		for _, part := range w {
			all = append(all, part...)
		}
		return strings.Join(all, " ")
	}
	common, own, other := words(1, 400), words(2, 600), words(3, 600)
	for name, test := range map[string]struct {
		a, b string
		want bool
	}{
		"the same":                        {text(own), text(own), true},
		"a print version with a line":     {text(own), text(own, words(4, 10)), true},
		"one paragraph of ten is another": {text(own), text(own[:540], words(5, 60)), true},
		"half of it is another":           {text(own), text(own[:300], other[:300]), false},
		"two articles of one template":    {text(common, own), text(common, other), false},
		"a part of the other":             {text(own), text(own[:300]), false},
		"short and the same":              {"one", "one", true},
		"short and not the same":          {"one", "two", false},
		"no spaces, the same":             {strings.Repeat("水泵需要油", 1) + "每年更换一次", "水泵需要油每年更换一次", true},
		"no spaces, not the same":         {"水泵需要油每年更换一次", "阀门不需要维护请看手册", false},
		"nothing":                         {"", "", false},
	} {
		if got := textid.IsSimilar(textid.Sketch(test.a), textid.Sketch(test.b)); got != test.want {
			t.Errorf("%s: alike is %v with a resemblance of %.2f", name, got, textid.Resemblance(textid.Sketch(test.a), textid.Sketch(test.b)))
		}
	}
}

func FuzzSteady(f *testing.F) {
	f.Add("Generated at 13:04:05\n1,234 views")
	f.Fuzz(func(t *testing.T, text string) {
		if once := textid.RemoveVolatile(text); len(textid.RemoveVolatile(once)) > len(once)+len("…")*len(once) {
			t.Error("it grows")
		}
		textid.Sketch(text)
		textid.RemoveVolatileStrict(text)
	})
}

func BenchmarkHashAndSketch(b *testing.B) {
	text := strings.Join(words(1, 5_000), " ") + "\nGenerated at 13:04:05\n"
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		textid.Hash("title", text)
		textid.Sketch(text)
	}
}
