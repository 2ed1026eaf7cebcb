package fleet

import "syscall"

// Signals that pause and resume a process.
const (
	pauseSignal  = syscall.SIGSTOP
	resumeSignal = syscall.SIGCONT
)

// withParent returns attributes that make the kernel kill a process when this program exits, and keep the terminal's
// Ctrl-C from reaching it.
func withParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
