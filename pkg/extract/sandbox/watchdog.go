package sandbox

import (
	"fmt"
	"os"
	"runtime/metrics"
	"time"
)

// exitMemory is the exit code of a child that its watchdog stopped.
const exitMemory = 88

// watchEvery is the watchdog's interval between memory checks.
const watchEvery = 20 * time.Millisecond

// mappedMemory returns how many bytes Go has mapped and not released.
func mappedMemory() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64() - sample[1].Value.Uint64())
}

// addressSpace returns how many bytes Go has mapped, including memory no longer in use.
func addressSpace() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// WatchMemory terminates the process once it holds more than the given number of bytes, on systems without memory
// limits. It monitors only memory allocated by Go, and it may react up to watchEvery late.
func WatchMemory(bytes int64) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for range tick.C {
		if mappedMemory() > bytes {
			fmt.Fprintln(os.Stderr, "out of memory: stopped by the watchdog")
			os.Exit(exitMemory)
		}
	}
}
