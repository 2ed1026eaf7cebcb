//go:build !linux

package engines

import (
	"errors"
	"os"
	"syscall"
)

var errNotLinux = errors.New("engines are started on Linux only")

func executable() (string, error) { return "", errNotLinux }

func inNewSession() processAttributes      { return processAttributes{} }
func inNamespaces() processAttributes      { return processAttributes{} }
func asOrdinaryUser() processAttributes    { return processAttributes{} }
func diesWithThread() *syscall.SysProcAttr { return nil }

func adoptOrphans() error   { return errNotLinux }
func setUpNamespace() error { return errNotLinux }

func pauseTree(int) error  { return errNotLinux }
func resumeTree(int) error { return errNotLinux }

func killAll(engine *os.Process) { _ = engine.Kill() }
