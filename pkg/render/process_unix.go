//go:build unix

package render

import (
	"os"
	"os/exec"
	"syscall"
)

// killGroup kills the browser's remaining processes. It ignores errors, because the process group may no longer exist.
func killGroup(p *os.Process) {
	if p != nil {
		_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	}
}

// setProcessGroup starts the browser in its own process group, so that all its processes can be killed together and
// don't receive signals from the terminal.
func setProcessGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
