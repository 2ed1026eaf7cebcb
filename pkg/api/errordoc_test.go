package api

import (
	"testing"

	"github.com/sluice/sluice/pkg/api/problem"
)

func TestTheDocumentListsEveryErrorCode(t *testing.T) {
	t.Parallel()
	for _, e := range problem.Docs() {
		if !ProblemError(e.Code).Valid() {
			t.Errorf("%s: the OpenAPI document does not know it", e.Code)
		}
	}
}
