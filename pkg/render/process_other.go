//go:build !unix

package render

import (
	"os"
	"os/exec"
)

// setProcess does nothing, because the browser exits when the pipe to this process breaks.
func setProcess(*exec.Cmd) {}

func killGroup(p *os.Process) {
	if p != nil {
		_ = p.Kill()
	}
}
