//go:build !linux

package main

import "time"

// childProcesses is known on Linux alone.
func childProcesses() []int { return nil }

func childCPU() time.Duration { return 0 }

func forgetPeaks() {}

func childPeak() int64 { return 0 }
