package searchsettings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
)

func TestParseRule(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]Rule{
		"car, automobile,motor  vehicle": {From: []string{"car", "automobile", "motor vehicle"}},
		"laptop => notebook, computer":   {From: []string{"laptop"}, To: []string{"notebook", "computer"}},
		"a, b=>c":                        {From: []string{"a", "b"}, To: []string{"c"}},
		`a\,b , c`:                       {From: []string{"a,b", "c"}},
		`a\=>b, c`:                       {From: []string{"a=>b", "c"}},
		"a,,b,":                          {From: []string{"a", "b"}},
	} {
		got, err := ParseRule(line)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got):\n%s", line, err, diff)
		}
	}
	for line, want := range map[string]string{
		"":                                  "has fewer than two terms",
		"car":                               "has fewer than two terms",
		"=> b":                              "has no text on one side",
		"a =>":                              "has no text on one side",
		"a => b => c":                       "has more than one =>",
		"a, ?!":                             `has the text "?!", which is "?!", which contains no word`,
		"a, b\nc, d":                        "has a line break",
		"a" + strings.Repeat(",b", 30):      "has 31 words and phrases; the limit is 30",
		"a, " + strings.Repeat("word ", 11): "has more than 10 words",
		"a, " + strings.Repeat("w", MaxTextBytes+1): "has 201 bytes; the limit is 200",
	} {
		if _, err := ParseRule(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", line, err, want)
		}
	}
}

func TestInvalidSettings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"synonyms":["a, b","c"]}`:                                                  "synonyms[1]: has fewer than two terms",
		`{"stopWords":["two words"]}`:                                                `stopWords[0]: is "two words"; it must be a single word`,
		`{"keepWords":["…"]}`:                                                        "keepWords[0]: is \"…\", which contains no word",
		`{"stopWords":["it"],"keepWords":["who","IT"]}`:                              `keepWords[1]: is "IT", which is also in stopWords`,
		`{"boosts":[{"type":"x"}]}`:                                                  "boosts[0].type: ",
		`{"pins":[{"query":"?","documents":[{"customId":"a"}]}]}`:                    "pins[0].query: is \"?\", which contains no word",
		`{"pins":[{"query":"q"}]}`:                                                   "pins[0].documents: is empty",
		`{"pins":[{"query":"q","match":"near","block":[{"customId":"a"}]}]}`:         `pins[0].match: is "near"`,
		`{"pins":[{"query":"q","documents":[{}]}]}`:                                  "pins[0].documents[0]: must have either datasourceId or customId",
		`{"pins":[{"query":"q","documents":[{"datasourceId":"a","customId":"b"}]}]}`: "pins[0].documents[0]: must have either",
		`{"pins":[{"query":"q","documents":[{"customId":"a","chunk":-1}]}]}`:         "pins[0].documents[0].chunk: is -1",
		`{"pins":[{"query":"q","block":[{"customId":"a","chunk":1}]}]}`:              "pins[0].block[0].chunk: cannot be set",
		`{"synonyms":[` + strings.Repeat(`"a, b",`, MaxSynonyms) + `"a, b"]}`:        "synonyms: has 5001 entries; the limit is 5000",
		`{"synonyms":3}`: "body: cannot be read",
	} {
		_, faults := Parse([]byte(text))
		if len(faults) == 0 || !strings.HasPrefix(faults[0].Field+": "+faults[0].Message, want) {
			t.Errorf("%.80s: %v, want %q", text, faults, want)
		}
	}
	var many []string
	for i := range 4000 {
		many = append(many, fmt.Sprintf("%s%d, %s", strings.Repeat("long", 20), i, strings.Repeat("word", 20)))
	}
	if _, err := (Settings{Synonyms: many}).Encode(); domain.CodeOf(err) != domain.CodeTooLarge {
		t.Errorf("too many bytes: %v", err)
	}
}

func TestSettingsAsJSON(t *testing.T) {
	t.Parallel()
	const text = `{"synonyms":["a, b"],"stopWords":["please"],"keepWords":[],"boosts":[{"type":"value","key":"k","factor":2,"value":1}],` +
		`"pins":[{"query":"q","match":"exact","documents":[{"customId":"c","chunk":0}],"block":[]}]}`
	s, faults := Parse([]byte(text))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if got, err := s.Encode(); err != nil || string(got) != text {
		t.Errorf("%v: %s, want %s", err, got, text)
	}
	got, err := json.Marshal(Empty())
	if want := `{"synonyms":[],"stopWords":[],"keepWords":[],"boosts":[],"pins":[]}`; err != nil || string(got) != want {
		t.Errorf("empty settings are %s, want %s", got, want)
	}
}

// catalog maps ids to the datasources in datastore "ds".
type catalog map[string]*domain.ActiveDatasource

func (c catalog) ActiveOf(_ context.Context, ids []string) ([]*domain.ActiveDatasource, error) {
	out := make([]*domain.ActiveDatasource, len(ids))
	for i, id := range ids {
		out[i] = c[id]
	}
	return out, nil
}

func (c catalog) ResolveFilters(_ context.Context, stores []string, f domain.Filters) (found []string, err error) {
	for id, d := range c {
		for _, wanted := range f.CustomIDs {
			if d.CustomID == wanted && d.DatastoreID == stores[0] {
				found = append(found, id)
			}
		}
	}
	return found, nil
}

func TestMissingDocuments(t *testing.T) {
	t.Parallel()
	c := catalog{"1": {ID: "1", DatastoreID: "ds", CustomID: "one"}, "2": {ID: "2", DatastoreID: "elsewhere", CustomID: "two"}}
	s := Settings{Pins: []Pin{{Query: "q", Documents: []Document{{DatasourceID: "1"}, {DatasourceID: "2"}, {CustomID: "one"}}, Block: []Document{{CustomID: "two"}, {DatasourceID: "3"}}}}}
	faults, err := s.Missing(t.Context(), c, "ds")
	var fields []string
	for _, f := range faults {
		fields = append(fields, f.Field)
	}
	if diff := cmp.Diff([]string{"pins[0].documents[1]", "pins[0].block[0]", "pins[0].block[1]"}, fields); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestCache(t *testing.T) {
	t.Parallel()
	reads := 0
	fails := errors.New("the catalog is away")
	c := NewCache(func(_ context.Context, id string, version int64) ([]byte, error) {
		if reads++; version < 0 {
			return nil, fails
		}
		return fmt.Appendf(nil, `{"stopWords":["w%s%d"], "pins":[]}`, id, version), nil
	})
	get := func(id string, version int64) *Compiled {
		t.Helper()
		s, err := c.Settings(t.Context(), id, version)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := get("a", 1)
	if get("a", 1) != first || reads != 1 {
		t.Errorf("a version was read %d times", reads)
	}
	second := get("a", 2)
	if second == first || get("a", 2) != second || reads != 2 {
		t.Error("a new version does not replace the old one")
	}
	if get("a", 1); get("a", 2) != second { // a query that began earlier
		t.Error("an old version replaced the new one")
	}
	if _, err := c.Settings(t.Context(), "a", -1); !errors.Is(err, fails) {
		t.Errorf("a failure is %v", err)
	}
	big := NewCache(func(context.Context, string, int64) ([]byte, error) {
		return fmt.Appendf(nil, `{"synonyms":["a, b"%s]}`, strings.Repeat(" ", MaxBytes)), nil
	})
	for i := range 40 {
		if _, err := big.Settings(t.Context(), fmt.Sprint(i), 1); err != nil {
			t.Fatal(err)
		}
	}
	if big.bytes > maxCachedBytes || len(big.kept) == 0 {
		t.Errorf("%d bytes of %d datastores are kept", big.bytes, len(big.kept))
	}
}
