package fleet

import "syscall"

// Signals that pause and resume a process.
const (
	pauseSignal  = syscall.SIGSTOP
	resumeSignal = syscall.SIGCONT
)

// withParent returns attributes that make the kernel kill a process when this program exits, and shield it from the
// terminal's Ctrl-C.
func withParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
