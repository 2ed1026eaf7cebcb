package render

import (
	"os/exec"
	"syscall"
)

// setProcess makes the kernel kill the browser when this process exits for any reason. The browser's children exit with
// it.
func setProcess(cmd *exec.Cmd) {
	setProcessGroup(cmd)
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
