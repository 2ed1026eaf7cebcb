package seal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/seal"
)

func box(t *testing.T, key string) *seal.Box {
	t.Helper()
	b, err := seal.New(key)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestHeadersOpenWithTheirKeyForTheirWorkspaceAndOriginAlone(t *testing.T) {
	t.Parallel()
	key := seal.NewKey()
	b := box(t, key)
	headers := map[string]string{"Cookie": "session=very-secret", "Accept-Language": "de"}
	a, err := b.Seal("ws", "https://docs.example", headers)
	if err != nil {
		t.Fatal(err)
	}
	if stored, err := json.Marshal(a); err != nil || bytes.Contains(stored, []byte("very-secret")) {
		t.Errorf("%v, stored as %s", err, stored)
	}
	if diff := cmp.Diff([]string{"Accept-Language", "Cookie"}, a.Names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	got, err := box(t, key).Open("ws", *a)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(headers, got); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	elsewhere, cut, changed := *a, *a, *a
	elsewhere.Origin = "https://other.example"
	cut.Sealed = a.Sealed[:5]
	changed.Sealed = bytes.Clone(a.Sealed)
	changed.Sealed[len(changed.Sealed)-1] ^= 1
	for name, open := range map[string]func() (map[string]string, error){
		"another key":       func() (map[string]string, error) { return box(t, seal.NewKey()).Open("ws", *a) },
		"another workspace": func() (map[string]string, error) { return b.Open("other", *a) },
		"another origin":    func() (map[string]string, error) { return b.Open("ws", elsewhere) },
		"a part":            func() (map[string]string, error) { return b.Open("ws", cut) },
		"a changed byte":    func() (map[string]string, error) { return b.Open("ws", changed) },
		"nothing":           func() (map[string]string, error) { return b.Open("ws", domain.SiteAccess{Origin: a.Origin}) },
	} {
		if got, err := open(); !errors.Is(err, seal.ErrSealed) || got != nil {
			t.Errorf("%s: got %v and %v", name, got, err)
		}
	}
	if again, err := b.Seal("ws", "https://docs.example", headers); err != nil || bytes.Equal(again.Sealed, a.Sealed) {
		t.Errorf("%v, and equal headers look alike", err)
	}
	if none, err := b.Seal("ws", "https://docs.example", nil); none != nil || err != nil {
		t.Errorf("no headers are sealed as %v, %v", none, err)
	}
}

func TestAShortKeyIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := seal.New(strings.Repeat("x", seal.MinKeyBytes-1)); err == nil {
		t.Error("it is taken")
	}
}
