package api_test

import (
	"testing"

	"github.com/sluice/sluice/pkg/console"
)

func TestTheAPIReferenceHasTheHeadersOfTheConsole(t *testing.T) {
	t.Parallel()
	s := newService(t)
	want, got := s.as("").call("GET", "/", nil).want(200), s.as("").call("GET", "/docs/api", nil).want(200)
	for _, name := range []string{"X-Content-Type-Options", "Referrer-Policy", "Cross-Origin-Opener-Policy", "Cross-Origin-Resource-Policy"} {
		if got.header.Get(name) != want.header.Get(name) || want.header.Get(name) == "" {
			t.Errorf("%s is %q, but %q in the console", name, got.header.Get(name), want.header.Get(name))
		}
	}
	if policy := got.header.Get("Content-Security-Policy"); policy == "" || policy == console.Policy {
		t.Errorf("Content-Security-Policy is %q", policy)
	}
}
