package bench

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// ProcessorTime is what a process has used of all processors, to a hundredth of a second. Only Linux tells it.
func ProcessorTime(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("reading what time a process has used: %w", err)
	}
	// The name, which may hold anything, ends with the last bracket; utime and stime are the 12th and 13th after it (proc(5)).
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading what time a process has used: %w", err)
		}
		ticks += n
	}
	const tick = 10 * time.Millisecond // of /proc on every architecture that Go runs on
	return time.Duration(ticks) * tick, nil
}

// Kinds of a process's memory.
const (
	OwnMemory  = "RssAnon" // resident, without the pages of files, which the system takes back when it needs them
	PeakMemory = "VmHWM"   // resident, at its highest
)

// Memory is the memory of a kind that a process has, in bytes. Only Linux tells it.
func Memory(pid int, kind string) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("reading what memory a process has: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, kind+":"); ok {
			kilobytes, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			return kilobytes << 10, err
		}
	}
	return 0, errors.New("the system does not tell what memory a process has")
}

// Children are the processes that this one has started and not yet waited for; none where the system does not tell.
func Children() []int {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil
	}
	var pids []int
	for _, t := range tasks {
		list, err := os.ReadFile("/proc/self/task/" + t.Name() + "/children")
		if err != nil {
			continue
		}
		for _, f := range strings.Fields(string(list)) {
			if pid, err := strconv.Atoi(f); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
