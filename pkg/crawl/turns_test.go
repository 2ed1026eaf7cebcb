package crawl_test

import (
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/crawl"
	"github.com/sluice/sluice/pkg/crawl/turnstest"
)

func TestLocalTurns(t *testing.T) {
	t.Parallel()
	turnstest.Test(t, func(_ *testing.T, now func() time.Time, n int) []crawl.Turns {
		one, all := crawl.NewLocalTurns(now), make([]crawl.Turns, n)
		for i := range all {
			all[i] = one
		}
		return all
	})
}
