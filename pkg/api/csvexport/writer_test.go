package csvexport

import (
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
)

func TestFormulasAreEscaped(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"plain": "plain", "a = b": "a = b", "": "", "a-b": "a-b",
		"=1+1": "'=1+1", "@SUM(A1)": "'@SUM(A1)", " +1": "' +1", "\"=1": "'\"=1", "＝1": "'＝1",
		"a;=1": "a;'=1", "a\n-1": "a\n'-1", "\ta": "'\ta",
	} {
		if got := escapeFormula(cell); got != want {
			t.Errorf("%q becomes %q, want %q", cell, got, want)
		}
	}
}

func TestEachMessageIsARow(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	w := New(&out)
	m := domain.Message{ID: "m", Role: "assistant", Text: "two\nlines"}
	for _, err := range []error{w.Open(), w.Begin(domain.Conversation{}), w.Message(domain.Conversation{ID: "c", AgentID: "a", Title: "=t"}, m), w.End(), w.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := out.String(); strings.Count(got, "\n") != 3 || !strings.Contains(got, ",a,,'=t,m,0001-01-01T00:00:00Z,assistant,\"two\nlines\",\n") {
		t.Errorf("the export is\n%s", got)
	}
}
