package extract

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	RunChildIfAsked()
	goleak.VerifyTestMain(m)
}
