package engines

import (
	"fmt"
	"syscall"
)

// surroundings are what a process is started in.
type surroundings struct {
	attr   *syscall.SysProcAttr
	wayOut string // what to do where the system refuses them, "" if it never does
}

// What to do where namespaces are refused.
const (
	wayOutIsolated = "Milvus runs in namespaces of its own, which this system does not permit: run as a user who may make them, " +
		"or start Milvus elsewhere and give its address in TEST_MILVUS_ADDR"
	wayOutNotRoot = "PostgreSQL does not run as root, and this system does not let root be another user in a namespace: " +
		"run as an ordinary user, or start PostgreSQL elsewhere and give its address in TEST_POSTGRES_URL"
)

// explain wraps the error of a start.
func (s surroundings) explain(err error) error {
	if s.wayOut == "" {
		return fmt.Errorf("starting a process: %w", err)
	}
	return fmt.Errorf("starting a process: %w (%s)", err, s.wayOut)
}
