//go:build !linux

package extract

// programIfAsked does nothing: programs are confined only on Linux.
func programIfAsked() {}
