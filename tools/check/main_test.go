package main

import (
	"context"
	"strings"
	"testing"
)

func TestTheDeploymentsHaveNoFault(t *testing.T) {
	var out strings.Builder
	if err := run(context.Background(), "../..", &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
}

func openTestRepository(t *testing.T) repository {
	t.Helper()
	repo, err := openRepository("../..")
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

// wantFault fails the test unless one of the errors contains the text.
func wantFault(t *testing.T, f faults, want string) {
	t.Helper()
	for _, fault := range f {
		if strings.Contains(fault, want) {
			return
		}
	}
	t.Errorf("no fault says %q; there are %d: %q", want, len(f), []string(f))
}
