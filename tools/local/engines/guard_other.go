//go:build !linux

package engines

import (
	"errors"
	"os"
	"syscall"
)

var errNotLinux = errors.New("engines are started on Linux only")

func executable() (string, error) { return "", errNotLinux }

func apart() surroundings                  { return surroundings{} }
func isolated() surroundings               { return surroundings{} }
func notRoot() surroundings                { return surroundings{} }
func diesWithThread() *syscall.SysProcAttr { return nil }

func adoptOrphans() error     { return errNotLinux }
func furnishNamespace() error { return errNotLinux }

func killAll(engine *os.Process) { _ = engine.Kill() }
