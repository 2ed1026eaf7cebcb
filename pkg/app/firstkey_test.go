package app

import (
	"net"
	"testing"
)

func TestTheFirstStartLeadsToTheConsole(t *testing.T) {
	t.Parallel()
	for listening, want := range map[string]string{
		"127.0.0.1:8080": "http://127.0.0.1:8080/",
		"0.0.0.0:8080":   "http://localhost:8080/",
		"[::]:80":        "http://localhost:80/",
		"[::1]:8080":     "http://[::1]:8080/",
	} {
		addr, err := net.ResolveTCPAddr("tcp", listening)
		if err != nil {
			t.Fatal(err)
		}
		if got := consoleAt(addr); got != want {
			t.Errorf("the console of a service that listens on %s is at %s, want %s", listening, got, want)
		}
	}
}
