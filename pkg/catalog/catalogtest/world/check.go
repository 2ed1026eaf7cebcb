package world

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lists"
)

// OK requires that there is no error.
func OK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Must returns a call's result, or fails the test if there was an error. Use it as Must(call())(t).
func Must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		OK(t, err)
		return v
	}
}

// Refused requires that a call failed with this code. Use it as Refused(call())(t, code).
func Refused[T any](_ T, err error) func(testing.TB, domain.Code) {
	return func(t testing.TB, want domain.Code) {
		t.Helper()
		Code(t, want, err)
	}
}

// Equal requires that two values are equal.
func Equal[T any](t testing.TB, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
}

// Code requires that err has the code.
func Code(t testing.TB, want domain.Code, err error) {
	t.Helper()
	if got := domain.CodeOf(err); got != want {
		t.Fatalf("error %v has code %q, want %q", err, got, want)
	}
}

// DatasourceIDs returns the ids of datasources.
func DatasourceIDs(ds []domain.Datasource) []string {
	return lists.Map(ds, func(d domain.Datasource) string { return d.ID })
}

// FaultyField requires that the error concerns exactly one field and returns the field's name.
func FaultyField(t testing.TB, err error) string {
	t.Helper()
	var e *domain.Error
	if !errors.As(err, &e) || len(e.Fields) != 1 {
		t.Fatalf("error %v names no single field", err)
	}
	return e.Fields[0].Field
}
