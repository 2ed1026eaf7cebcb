package filter_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/filter"
)

func mustParse(t *testing.T, text string) *filter.Filter {
	t.Helper()
	f, faults := filter.ParseJSON([]byte(text), "filters")
	if len(faults) > 0 {
		t.Fatalf("%s: %v", text, faults)
	}
	return f
}

// row returns a function that returns a key's values.
func row(metadata map[string]any) func(string) []filter.Value {
	return func(key string) (out []filter.Value) {
		list, isList := metadata[key].([]any)
		if !isList {
			list = []any{metadata[key]}
		}
		for _, item := range list {
			if v, ok := filter.ValueOf(item); ok {
				out = append(out, v)
			}
		}
		return out
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	values := row(map[string]any{
		"team": "docs", "year": 2025, "price": 2.5, "open": true, "tags": []any{"red", "green"}, "sizes": []any{3, 40},
		"day": "2026-03-01", "at": "2026-03-01T01:30:00+02:00", "none": nil, "empty": []any{}, "odd": "\x00\"", "zero": 0,
	})
	for text, want := range map[string]bool{
		`{"type":"eq","key":"team","value":"docs"}`:                                     true,
		`{"type":"eq","key":"team","value":"Docs"}`:                                     false,
		`{"type":"eq","key":"year","value":2025.0}`:                                     true,
		`{"type":"eq","key":"year","value":"2025"}`:                                     false,
		`{"type":"eq","key":"zero","value":-0.0}`:                                       true,
		`{"type":"ne","key":"team","value":"docs"}`:                                     false,
		`{"type":"ne","key":"absent","value":"docs"}`:                                   true,
		`{"type":"gt","key":"year","value":2024}`:                                       true,
		`{"type":"gt","key":"year","value":2025}`:                                       false,
		`{"type":"gte","key":"year","value":2025}`:                                      true,
		`{"type":"lt","key":"price","value":2.6}`:                                       true,
		`{"type":"lte","key":"price","value":2.4}`:                                      false,
		`{"type":"lt","key":"absent","value":2.6}`:                                      false,
		`{"type":"gt","key":"team","value":"doc"}`:                                      true,
		`{"type":"lt","key":"year","value":"3"}`:                                        false,
		`{"type":"in","key":"team","value":["docs","ops"]}`:                             true,
		`{"type":"in","key":"team","value":["ops"]}`:                                    false,
		`{"type":"nin","key":"team","value":["ops"]}`:                                   true,
		`{"type":"nin","key":"absent","value":["ops"]}`:                                 true,
		`{"type":"exists","key":"team"}`:                                                true,
		`{"type":"exists","key":"none"}`:                                                false,
		`{"type":"exists","key":"empty","value":true}`:                                  false,
		`{"type":"exists","key":"empty","value":false}`:                                 true,
		`{"type":"prefix","key":"team","value":"do"}`:                                   true,
		`{"type":"prefix","key":"tags","value":"gr"}`:                                   true,
		`{"type":"prefix","key":"year","value":"20"}`:                                   false,
		`{"type":"contains","key":"tags","value":"red"}`:                                true,
		`{"type":"contains","key":"tags","value":["red","green"]}`:                      true,
		`{"type":"contains","key":"tags","value":["red","blue"]}`:                       false,
		`{"type":"contains","key":"team","value":"docs"}`:                               true,
		`{"type":"gt","key":"sizes","value":39}`:                                        true,
		`{"type":"lt","key":"sizes","value":4}`:                                         true,
		`{"type":"not","filter":{"type":"gt","key":"sizes","value":39}}`:                false,
		`{"type":"not","filter":{"type":"gt","key":"absent","value":39}}`:               true,
		`{"type":"eq","key":"at","value":"2026-02-28T23:30:00Z"}`:                       true,
		`{"type":"eq","key":"day","value":"2026-03-01T00:00:00Z"}`:                      true,
		`{"type":"lt","key":"at","value":"2026-03-01"}`:                                 true,
		`{"type":"gte","key":"day","value":"2026-03-01T00:00:00"}`:                      true,
		`{"type":"gte","key":"day","value":"2026-03-01T01:00:00+02:00"}`:                true,
		`{"type":"gt","key":"day","value":"2026-02-28T23:00:00-02:00"}`:                 false,
		`{"type":"prefix","key":"day","value":"2026-"}`:                                 true,
		`{"type":"eq","key":"odd","value":"\u0000\""}`:                                  true,
		`{"type":"eq","key":"open","value":true}`:                                       true,
		`{"type":"eq","key":"open","value":"true"}`:                                     false,
		`{"type":"not","value":null,"filter":{"type":"exists","key":"x","value":null}}`: true,
		`null`: true,
		`{"type":"or","filters":[{"type":"exists","key":"x"},{"type":"eq","key":"open","value":true}]}`:  true,
		`{"type":"and","filters":[{"type":"exists","key":"x"},{"type":"eq","key":"open","value":true}]}`: false,
	} {
		f := mustParse(t, text)
		for name, form := range map[string]*filter.Filter{"as sent": f, "canonical": f.Canonical(), "split": f.Split()} {
			if got := form.Matches(values); got != want {
				t.Errorf("%s, %s: %v, want %v", text, name, got, want)
			}
		}
		if again := mustParse(t, f.String()); again.Canonical().String() != f.Canonical().String() {
			t.Errorf("%s is read back as %s", text, again)
		}
	}
}

func TestFaultsNameFieldValueAndWayOut(t *testing.T) {
	t.Parallel()
	eq := `{"type":"eq","key":"k","value":1}`
	nested := eq
	for range filter.MaxDepth {
		nested = `{"type":"not","filter":` + nested + `}`
	}
	long := strings.Repeat("x", 2*filter.MaxBytes/filter.MaxValues)
	many := func(n int, item string) string { return strings.TrimSuffix(strings.Repeat(item+",", n), ",") }
	for text, want := range map[string]string{
		`[]`:                                                   "filters: is an array; it must be an object",
		`{}`:                                                   "filters.type: is missing; it must be one of eq, ne",
		`{"type":"like"}`:                                      `filters.type: is "like"; it must be one of`,
		`{"type":3}`:                                           "filters.type: is 3; it must be one of",
		`{"type":"eq","key":""}`:                               `filters.key: is ""; it must be the name`,
		`{"type":"eq","key":"k"}`:                              "filters.value: is missing or null; to find documents without the key, use the type exists",
		`{"type":"eq","value":1}`:                              "filters.key: is missing",
		`{"type":"eq","key":"k","value":[1]}`:                  "filters.value: is an array, but eq takes a single value; use in",
		`{"type":"eq","key":"k","value":{}}`:                   "filters.value: is an object; it must be a string",
		`{"type":"in","key":"k","value":1}`:                    "filters.value: is 1; it must be an array of values; use eq",
		`{"type":"nin","key":"k","value":[]}`:                  "filters.value: is an empty array",
		`{"type":"in","key":"k","value":[1,"a"]}`:              `filters.value[1]: is "a", but the first value is 1`,
		`{"type":"in","key":"k","value":[1,null]}`:             "filters.value[1]: is missing or null",
		`{"type":"gt","key":"k","value":true}`:                 "filters.value: is true, but booleans have no order; use eq",
		`{"type":"exists","key":"k","value":1}`:                "filters.value: is 1; the value of exists must be true or false",
		`{"type":"prefix","key":"k","value":1}`:                "filters.value: is 1; the value of prefix must be a non-empty string",
		`{"type":"prefix","key":"k","value":""}`:               `filters.value: is ""; the value of prefix must be a non-empty string`,
		`{"type":"and"}`:                                       "filters.filters: is missing",
		`{"type":"and","filters":[]}`:                          "filters.filters: is an empty array",
		`{"type":"or","filters":{}}`:                           "filters.filters: is an object; it must be an array",
		`{"type":"not","filters":[]}`:                          "filters.filters: is unknown; filters of the type not have the fields type, filter",
		`{"type":"not"}`:                                       "filters.filter: is missing or null; it must be an object",
		`{"type":"eq","key":"k","value":1,"vlaue":2}`:          "filters.vlaue: is unknown; filters of the type eq have the fields type, key, value",
		`{"type":"and","filters":[` + eq + `,{"type":"x"}]}`:   `filters.filters[1].type: is "x"`,
		`{"type":"eq","key":"datasource.typo","value":"file"}`: `filters.key: is "datasource.typo", which is not a datasource property; use one of datasource.id`,
		nested: "is nested 9 levels deep; the limit is 8; merge",
		`{"type":"or","filters":[` + many(filter.MaxConditions+1, eq) + `]}`:                    "filters: has 101 conditions; the limit is 100; replace",
		`{"type":"in","key":"k","value":[` + many(filter.MaxValues+1, "1") + `]}`:               "filters.value: has 1001 values; the limit is 1000",
		`{"type":"in","key":"k","value":[` + many(filter.MaxValues, `"`+long+`"`) + `]}`:        "as JSON; the limit is 65536; shorten",
		`{"type":"eq","value":1,"key":"` + strings.Repeat("k", filter.MaxKeyBytes+1) + `"}`:     "filters.key: has 257 bytes; the limit is 256",
		`{"type":"lt","key":"k","value":"` + strings.Repeat("k", filter.MaxOrderBytes+1) + `"}`: "filters.value: has 257 bytes; the limit for lt is 256",
		`{"type":"and",`: "filters: is not valid JSON",
	} {
		f, faults := filter.ParseJSON([]byte(text), "filters")
		if len(faults) == 0 || f != nil {
			t.Errorf("%.100s is accepted", text)
			continue
		}
		if got := faults[0].Field + ": " + faults[0].Message; !strings.Contains(got, want) {
			t.Errorf("%.100s: %s\nwant %s", text, got, want)
		}
	}
}

func TestLimitsAreReachable(t *testing.T) {
	t.Parallel()
	nested := `{"type":"exists","key":"` + strings.Repeat("k", filter.MaxKeyBytes) + `"}`
	for range filter.MaxDepth - 1 {
		nested = `{"type":"not","filter":` + nested + `}`
	}
	mustParse(t, nested)
	var conditions []string
	for i := range filter.MaxConditions {
		conditions = append(conditions, fmt.Sprintf(`{"type":"lt","key":"k%d","value":%q}`, i, strings.Repeat("v", filter.MaxOrderBytes)))
	}
	mustParse(t, `{"type":"and","filters":[`+strings.Join(conditions, ",")+`]}`)
}

func TestCanonicalForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"type":"in","key":"k","value":["b","a","b"]}`: `{"type":"in","key":"k","value":["a","b"]}`,
		`{"type":"and","filters":[{"type":"eq","key":"b","value":1},{"type":"and","filters":[{"type":"eq","key":"a","value":1},{"type":"eq","key":"b","value":1}]}]}`: `{"type":"and","filters":[{"type":"eq","key":"a","value":1},{"type":"eq","key":"b","value":1}]}`,
		`{"type":"or","filters":[{"type":"eq","key":"b","value":1}]}`:                 `{"type":"eq","key":"b","value":1}`,
		`{"type":"not","filter":{"type":"not","filter":{"type":"exists","key":"b"}}}`: `{"type":"exists","key":"b","value":true}`,
		`{"type":"contains","key":"k","value":["b"]}`:                                 `{"type":"contains","key":"k","value":"b"}`,
		`null`: `null`,
	} {
		if got := mustParse(t, text).Canonical().String(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestConflicts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		filter string
		have   filter.Kind
		want   string // "" if there should be none
	}{
		{`{"type":"eq","key":"k","value":1}`, filter.Number, ""},
		{`{"type":"eq","key":"k","value":1}`, 0, ""},
		{`{"type":"eq","key":"k","value":1}`, filter.Text, `the key "k" has texts in this datastore, but the filter's eq condition compares it with the number 1`},
		{`{"type":"eq","key":"k","value":"a"}`, filter.Text | filter.Number, `the key "k" has values of several types in this datastore (numbers and texts)`},
		{`{"type":"eq","key":"k","value":"a"}`, filter.Text | filter.Date, ""},
		{`{"type":"in","key":"k","value":["2026-01-01"]}`, filter.Text | filter.Date, ""},
		{`{"type":"gt","key":"k","value":"2026-01-01"}`, filter.Date, ""},
		{`{"type":"gt","key":"k","value":"2026-01-01"}`, filter.Text | filter.Date, "several types in this datastore (texts and dates)"},
		{`{"type":"gt","key":"k","value":"b"}`, filter.Date, "has dates in this datastore, but the filter's gt condition compares it with the text \"b\"; use a date"},
		{`{"type":"prefix","key":"k","value":"b"}`, filter.Date | filter.Text, ""},
		{`{"type":"prefix","key":"k","value":"b"}`, filter.Bool, "has booleans"},
		{`{"type":"exists","key":"k"}`, filter.Any, ""},
	} {
		err := mustParse(t, c.filter).Conflict(c.have)
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s with %s: %v, want %q", c.filter, c.have, err, c.want)
		case err != nil && filter.AsError(fmt.Errorf("searching: %w", err)).Key != "k":
			t.Errorf("%s: the error does not name the key", c.filter)
		}
	}
}

func TestIdentities(t *testing.T) {
	t.Parallel()
	for _, v := range []any{"", "a", "n1", 0, -1, 1e300, 5e-324, 2.5, true, false} {
		value, ok := filter.ValueOf(v)
		again, read := filter.FromIdentity(value.Identity())
		if !ok || !read || again != value {
			t.Errorf("%v has the identity %q, which is read as %v", v, value.Identity(), again.Any())
		}
	}
	for _, identity := range []string{"", "x", "b", "nx", "byes"} {
		if v, ok := filter.FromIdentity(identity); ok {
			t.Errorf("the identity %q is read as %v", identity, v.Any())
		}
	}
	for _, v := range []any{nil, map[string]any{}, []any{}} {
		if _, ok := filter.ValueOf(v); ok {
			t.Errorf("%v is a value", v)
		}
	}
}

func TestDates(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-03-01": "2026-03-01T00:00:00Z", "2026-03-01T10:00": "2026-03-01T10:00:00Z", "2026-03-01T10:00:00": "2026-03-01T10:00:00Z",
		"2026-03-01T10:00:00Z": "2026-03-01T10:00:00Z", "2026-03-01T10:00:00.25+05:30": "2026-03-01T04:30:00.25Z",
		"2026-02-30": "", "2026-3-1": "", "20260301": "", "2026-03-01 10:00:00": "", "yesterday is": "", "2026-03-01T10:00:00,5Z": "", "-026-03-01": "",
	} {
		got := ""
		if at, is := filter.TextOf(text).Time(); is {
			got = at.Format("2006-01-02T15:04:05.999999999Z07:00")
		}
		if got != want {
			t.Errorf("%q is the time %q, want %q", text, got, want)
		}
	}
}

// FuzzParse checks that accepted filters stay within the limits and that their JSON and canonical forms are equivalent.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"type":"eq","key":"team","value":"docs"}`, `{"type":"and","filters":[{"type":"in","key":"a","value":[1,2]},{"type":"not","filter":{"type":"exists","key":"b"}}]}`,
		`{"type":"or","filters":[{"type":"prefix","key":"a","value":"x"},{"type":"gte","key":"d","value":"2026-01-01T00:00:00+01:00"}]}`,
		`{"type":"contains","key":"tags","value":["a",true]}`, `{"type":"nin","key":"\u0000","value":["\ufffd"]}`, `null`, `[]`, `{"type":"lt","key":"k","value":-0}`,
	} {
		f.Add([]byte(seed), "a", 1.0)
	}
	f.Fuzz(func(t *testing.T, data []byte, text string, number float64) {
		parsed, faults := filter.ParseJSON(data, "filters")
		if parsed == nil {
			return
		}
		if len(faults) > 0 {
			t.Fatalf("%s is accepted with faults: %v", data, faults)
		}
		keys := map[string]bool{}
		n := 0
		for c := range parsed.Conditions() {
			n, keys[c.Key] = n+1, true
		}
		if n > filter.MaxConditions || len(parsed.String()) > filter.MaxBytes {
			t.Fatalf("%s exceeds the limits", data)
		}
		again, faults := filter.ParseJSON([]byte(parsed.String()), "filters")
		if len(faults) > 0 {
			t.Fatalf("%s cannot be read again: %v", parsed, faults)
		}
		canonical := parsed.Canonical()
		if twice := canonical.Canonical().String(); twice != canonical.String() {
			t.Fatalf("the canonical form of %s is %s, and that of the latter %s", parsed, canonical, twice)
		}
		for _, all := range [][]any{{text}, {number}, {text, number, true}, nil} {
			values := row(map[string]any{})
			metadata := map[string]any{}
			for key := range keys {
				metadata[key] = all
			}
			if all != nil {
				values = row(metadata)
			}
			want := parsed.Matches(values)
			for _, form := range []*filter.Filter{again, canonical, parsed.Split()} {
				if form.Matches(values) != want {
					t.Fatalf("%s and %s differ on %v", parsed, form, all)
				}
			}
		}
	})
}
