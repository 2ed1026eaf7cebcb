package db

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRebind(t *testing.T) {
	t.Parallel()
	got := rebind(dialect{numbered: true}, `SELECT '?' FROM t WHERE a = ? AND b LIKE ? ESCAPE '!' AND c = 'it''s ?'`)
	want := `SELECT '?' FROM t WHERE a = $1 AND b LIKE $2 ESCAPE '!' AND c = 'it''s ?'`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
}

func TestAnOldServerIsRefusedWithTheVersionThatIsNeeded(t *testing.T) {
	t.Parallel()
	err := checkServer("120022", "UTF8", true)
	if err == nil || !strings.Contains(err.Error(), "PostgreSQL 12, but version 13 or later") {
		t.Fatal(err)
	}
	if err := checkServer("130000", "UTF8", true); err != nil {
		t.Fatal(err)
	}
}
