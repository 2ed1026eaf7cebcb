package render

import (
	"os/exec"
	"syscall"
)

// setProcess has the browser die with us, however we end. Its own children end when it does.
func setProcess(cmd *exec.Cmd) {
	inGroup(cmd)
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
