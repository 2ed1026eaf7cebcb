package sandbox

import (
	"fmt"
	"os"
	"runtime/metrics"
	"time"
)

// exitMemory is the exit code of a child that its watchdog ended.
const exitMemory = 88

// watchEvery is how often the watchdog looks.
const watchEvery = 20 * time.Millisecond

// mappedMemory is how much memory Go has mapped and not given back, in bytes.
func mappedMemory() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64() - sample[1].Value.Uint64())
}

// addressSpace is how much memory Go has mapped, whether it uses it or not, in bytes.
func addressSpace() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// WatchMemory ends the process once it holds more than that many bytes, where the system cannot bound it. It sees what
// Go allocates, and sees it late by up to watchEvery.
func WatchMemory(bytes int64) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for range tick.C {
		if mappedMemory() > bytes {
			fmt.Fprintln(os.Stderr, "out of memory: ended by the watchdog")
			os.Exit(exitMemory)
		}
	}
}
