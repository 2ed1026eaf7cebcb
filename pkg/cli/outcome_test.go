package cli

import "testing"

func TestPendingDocumentsAreNotReportedAsSearchable(t *testing.T) {
	t.Parallel()
	o := outcome{Found: 4, Sent: 1, Synched: 1, Unchanged: 3, alreadyProcessed: 1}
	if got, want := o.summary(), "4 documents: 2 searchable, 1 sent, 3 unchanged"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
