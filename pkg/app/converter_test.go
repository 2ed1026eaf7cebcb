package app

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/config"
)

func TestConversionsRecogniseTextOnlyIfTheSettingAllowsIt(t *testing.T) {
	t.Parallel()
	c := newConverter(config.Config{Tesseract: "off"}, t.TempDir(), t.TempDir(), slog.New(slog.DiscardHandler))
	defer c.Close()
	if _, err := c.Recognises(); err == nil || !strings.Contains(err.Error(), "SLUICE_TESSERACT=off") {
		t.Errorf("the error is %v", err)
	}
}
