package extract

import (
	"testing"

	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/sandbox"
)

func TestMain(m *testing.M) {
	programIfAsked()
	tasks := ChildTasks()
	tasks.Parse = misbehave
	sandbox.RunIfAsked(tasks)
	extracttest.Main(m)
}
