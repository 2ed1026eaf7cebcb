//go:build unix

package render

import (
	"os"
	"os/exec"
	"syscall"
)

// killGroup kills what is left of the processes that the browser started. The group may be gone.
func killGroup(p *os.Process) {
	if p != nil {
		_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	}
}

// inGroup gives the browser a process group of its own, which is killed as a whole; signals of a terminal are for us.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
