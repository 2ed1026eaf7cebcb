package problem

import (
	"testing"

	"github.com/sluice/sluice/pkg/domain"
)

func TestEveryErrorCodeIsDocumented(t *testing.T) {
	t.Parallel()
	for _, e := range Docs() {
		if e.Meaning == "" || e.Remedy == "" {
			t.Errorf("%s: doc.go says nothing of it", e.Code)
		}
	}
	for code := range errorWords {
		if _, found := statuses[code]; !found {
			t.Errorf("%s is explained, and no error has it", code)
		}
	}
	if _, found := statuses[domain.CodeInvalid]; !found {
		t.Error("the table is not the one that errors are made by")
	}
}
