package mcp

import (
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
)

const someID = "0198c0de-0000-7000-8000-000000000001"

func TestIDsSayWhereToRead(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]resource{
		someID:                            {datasourceID: someID},
		someID + "#12":                    {datasourceID: someID, ordinal: 12},
		domain.ChunkKey(someID, 7, 12):    {datasourceID: someID, ordinal: 12, around: true},
		domain.ChunkKey(someID, 1<<63, 0): {datasourceID: someID, around: true},
	} {
		if got, err := parseResource(id); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", id, got, err, want)
		}
	}
	for _, id := range []string{"", "x", someID + "#", someID + "#-1", someID + "#1#2", someID + ":1", someID + ":1:x", someID + ":x:1", "a:1:2", someID + "#99999999999"} {
		if got, err := parseResource(id); domain.CodeOf(err) != domain.CodeNotFound {
			t.Errorf("%q is taken for %+v, %v", id, got, err)
		}
	}
}

func TestAddressesOfResourcesSayWhereToRead(t *testing.T) {
	t.Parallel()
	for _, ordinal := range []int{0, 12} {
		if got, ok := parseURI(resourceURI(someID, ordinal)); !ok || got != (resource{datasourceID: someID, ordinal: ordinal}) {
			t.Errorf("%d: %+v, %v", ordinal, got, ok)
		}
	}
}

// FuzzParseResource parses arbitrary ids and addresses. Any it accepts must identify a datasource and survive
// formatting and reparsing.
func FuzzParseResource(f *testing.F) {
	for _, seed := range []string{someID, someID + "#1", someID + ":1:2", "sluice://datasources/" + someID + "?from=3", "sluice://datasources/../x", "#", ":"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := parseResource(text); err == nil {
			if !domain.ValidID(p.datasourceID) || p.ordinal < 0 {
				t.Errorf("%q is taken for %+v", text, p)
			}
			if again, err := parseResource(p.String()); err != nil || again.datasourceID != p.datasourceID || again.ordinal != p.ordinal {
				t.Errorf("%q is written as %s", text, p)
			}
		}
		if p, ok := parseURI(text); ok {
			if !domain.ValidID(p.datasourceID) || p.ordinal < 0 || !strings.HasPrefix(text, resourcePrefix) {
				t.Errorf("%q is taken for %+v", text, p)
			}
		}
	})
}
