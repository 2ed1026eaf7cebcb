package main

import (
	"strconv"
	"strings"

	"github.com/docker/go-units"
)

// Memory in bytes for a process itself, not counting its child processes.
const ownMemory = 1 << 30

// Memory limit in bytes for recognising a scanned page: pkg/extract/tesseract's maxMemory.
const scanMemory = 2 << 30

// checkExtractMemory checks that an ingestor's memory limit is high enough even if all its children use the maximum
// they are allowed. Otherwise the kernel may kill not just a child but the whole container, with every document in
// progress.
func checkExtractMemory(f *faults, where string, environment map[string]string, limit int64) {
	children, err := units.FromHumanSize(environment["SLUICE_INGEST_CONCURRENCY"])
	if err != nil {
		f.add("%s: SLUICE_INGEST_CONCURRENCY is %q", where, environment["SLUICE_INGEST_CONCURRENCY"])
		return
	}
	each, err := units.RAMInBytes(environment["SLUICE_EXTRACT_MEMORY"])
	if err != nil {
		f.add("%s: SLUICE_EXTRACT_MEMORY is %q", where, environment["SLUICE_EXTRACT_MEMORY"])
		return
	}
	scans, err := strconv.ParseInt(environment["SLUICE_OCR_CONCURRENCY"], 10, 64)
	if err != nil || scans < 1 {
		f.add("%s: SLUICE_OCR_CONCURRENCY is %q, so the memory for scans would depend on the machine's processors", where, environment["SLUICE_OCR_CONCURRENCY"])
		return
	}
	if need := children*each + scans*scanMemory + ownMemory; limit < need {
		f.add("%s: %d documents of %s each, %d scanned pages and the process itself may need %s, and the limit leaves %s", where, children,
			units.BytesSize(float64(each)), scans, units.BytesSize(float64(need)), units.BytesSize(float64(limit)))
	}
}

// Memory in bytes for the children in which an api process renders pages. pkg/app starts two, each limited to
// pkg/extract's DrawMemory.
const drawMemory = 2 << 30

// checkDrawMemory checks that an api process's memory limit is high enough even if both page-rendering children use the
// maximum they are allowed.
func checkDrawMemory(f *faults, where string, limit int64) {
	if need := int64(drawMemory + ownMemory); limit < need {
		f.add("%s: drawing pages and the process itself may need %s, and the limit leaves %s", where, units.BytesSize(float64(need)), units.BytesSize(float64(limit)))
	}
}

// tmpfsBytes returns the total size of tmpfs mounts in bytes.
func tmpfsBytes(mounts []string) int64 {
	var sum int64
	for _, mount := range mounts {
		_, options, _ := strings.Cut(mount, ":")
		for option := range strings.SplitSeq(options, ",") {
			if size, is := strings.CutPrefix(option, "size="); is {
				if n, err := units.RAMInBytes(size); err == nil {
					sum += n
				}
			}
		}
	}
	return sum
}
