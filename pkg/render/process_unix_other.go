//go:build unix && !linux

package render

import "os/exec"

// setProcess relies on the pipe to this process: the browser exits when the pipe breaks.
func setProcess(cmd *exec.Cmd) { setProcessGroup(cmd) }
