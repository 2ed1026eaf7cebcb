package crawl_test

import (
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/crawl"
	"github.com/sluice/sluice/pkg/crawl/slotstest"
)

func TestLocalSlots(t *testing.T) {
	t.Parallel()
	slotstest.Test(t, func(_ *testing.T, now func() time.Time, n int) []crawl.HostSlots {
		one, all := crawl.NewLocalSlots(now), make([]crawl.HostSlots, n)
		for i := range all {
			all[i] = one
		}
		return all
	})
}
