package render

import (
	"os/exec"
	"syscall"
)

// setProcess makes the kernel kill the browser when this process ends, however it ends. The browser's children exit
// with it.
func setProcess(cmd *exec.Cmd) {
	setProcessGroup(cmd)
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
