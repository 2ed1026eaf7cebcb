//go:build linux

package engines

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	RunChildIfAsked()
	orphanIfAsked()
	goleak.VerifyTestMain(Stopping(m))
}
