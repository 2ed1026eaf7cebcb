package engines

import (
	"fmt"
	"syscall"
)

// processAttributes holds system attributes for starting a process. The system may refuse to start a process with them.
type processAttributes struct {
	attr   *syscall.SysProcAttr
	remedy string // what to do if the system refuses them; "" if it never does
}

// Advice for systems that don't allow namespaces.
const (
	isolatedRemedy = "Milvus runs in namespaces of its own, which this system does not permit: run as a user who may make them, " +
		"or start Milvus elsewhere and give its address in TEST_MILVUS_ADDR"
	notRootRemedy = "PostgreSQL does not run as root, and this system does not let root be another user in a namespace: " +
		"run as an ordinary user, or start PostgreSQL elsewhere and give its address in TEST_POSTGRES_URL"
)

// explain wraps an error from starting a process and adds the remedy, if any.
func (s processAttributes) explain(err error) error {
	if s.remedy == "" {
		return fmt.Errorf("starting a process: %w", err)
	}
	return fmt.Errorf("starting a process: %w (%s)", err, s.remedy)
}
