//go:build !unix

package render

import (
	"os"
	"os/exec"
)

// setProcess relies on the pipe between us and the browser, which ends when that breaks.
func setProcess(*exec.Cmd) {}

func killGroup(p *os.Process) {
	if p != nil {
		_ = p.Kill()
	}
}
