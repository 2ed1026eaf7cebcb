package extract

import (
	"testing"

	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/pdf"
	"github.com/sluice/sluice/pkg/extract/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.RunIfAsked(misbehave, pdf.Picture, Locate)
	extracttest.Main(m)
}
