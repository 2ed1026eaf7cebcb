package app

import (
	"fmt"
	"log/slog"
	"os"
)

// openAudit opens the file at `path` for appending audit entries. If `path` is empty, it returns nil, and entries go to
// the log.
func openAudit(path string, log *slog.Logger) (*auditFile, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening SLUICE_AUDIT_FILE: %w", err)
	}
	return &auditFile{file, log}, nil
}

// auditFile logs write errors instead of returning them, so they don't fail requests.
type auditFile struct {
	*os.File
	log *slog.Logger
}

// Write implements io.Writer.
func (a *auditFile) Write(p []byte) (int, error) {
	n, err := a.File.Write(p)
	if err != nil {
		a.log.Error("cannot write to the audit file", "error", err)
	}
	return n, err
}
