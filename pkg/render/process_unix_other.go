//go:build unix && !linux

package render

import "os/exec"

// setProcess relies on the pipe between us and the browser, which ends when that breaks.
func setProcess(cmd *exec.Cmd) { inGroup(cmd) }
