package engines

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// If this environment variable is set, the process is an engine's guard.
const guardMarker = "LOCAL_ENGINE_GUARD"

// RunChildIfAsked runs the guard and exits if this package started the process as an engine's guard. Otherwise it does
// nothing. Call it first in every main and TestMain that uses this package.
func RunChildIfAsked() {
	if _, asked := os.LookupEnv(guardMarker); !asked {
		return
	}
	// The engine exits when the thread that started it exits, so keep this thread.
	runtime.LockOSThread()
	// Ctrl-C is meant for the parent, which the guard must outlive.
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	g := &guard{in: bufio.NewReader(os.Stdin), out: json.NewEncoder(os.Stdout)}
	if err := g.run(); err != nil {
		_ = g.out.Encode(report{Fault: err.Error()})
		os.Exit(1)
	}
	os.Exit(0)
}

// guard is a process between an engine and its user, the guard's parent. When the parent dies or asks for it, the guard
// stops the engine and all its child processes.
type guard struct {
	in       *bufio.Reader
	out      *json.Encoder
	spec     spec
	engine   *os.Process
	listener net.Listener // nil if the parent passed none
}

func (g *guard) run() error {
	line, err := g.in.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("reading the command to run: %w", err)
	}
	if err := json.Unmarshal(line, &g.spec); err != nil {
		return fmt.Errorf("reading the command to run: %w", err)
	}
	words := make(chan string, 1)
	go g.listen(words)
	if g.spec.NATS != nil {
		return g.runNATS(words)
	}
	return g.runProgram(words)
}

// listen sends the parent's first command to the channel, or "" if the parent dies.
func (g *guard) listen(words chan<- string) {
	line, err := g.in.ReadString('\n')
	if err != nil {
		words <- ""
		return
	}
	words <- line[:len(line)-1]
}

func (g *guard) runProgram(words <-chan string) error {
	if err := adoptOrphans(); err != nil {
		return err
	}
	if g.spec.Isolated {
		if err := setUpNamespace(); err != nil {
			return err
		}
	}
	if g.spec.Forward != "" {
		f := os.NewFile(3, "listener")
		l, err := net.FileListener(f)
		if err != nil {
			return fmt.Errorf("taking over the listener: %w", err)
		}
		_ = f.Close() // so that the engine doesn't inherit it and keep the port open
		g.listener = l
		go forward(l, g.spec.Forward) // returns when the listener is closed
	}
	exited, err := g.start()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	ready := make(chan error, 1)
	go func() { ready <- g.spec.Ready.wait(ctx) }()
	for {
		select {
		case err := <-ready:
			if err != nil {
				killAll(g.engine)
				return err
			}
			if err := g.out.Encode(report{Ready: true}); err != nil {
				killAll(g.engine)
				return err
			}
			ready = nil
		case state := <-exited:
			killAll(g.engine)
			return fmt.Errorf("it ended unexpectedly: %s", state)
		case word := <-words:
			g.end(word, exited)
			return nil
		}
	}
}

// start starts the program. The channel gets the reason when it exits.
func (g *guard) start() (<-chan string, error) {
	log, err := os.OpenFile(g.spec.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(g.spec.Args[0], g.spec.Args[1:]...) //nolint:noctx // it runs until the guard kills it
	cmd.Env, cmd.Dir = g.spec.Env, g.spec.Dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = diesWithThread()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", g.spec.Args[0], err)
	}
	g.engine = cmd.Process
	exited := make(chan string, 1)
	go func() {
		_ = cmd.Wait()
		exited <- cmd.ProcessState.String()
	}()
	return exited, nil
}

// end stops the engine after the parent has died or asked for it.
func (g *guard) end(word string, exited <-chan string) {
	if g.listener != nil {
		_ = g.listener.Close()
	}
	if word != commandKill && g.spec.StopSignal != 0 {
		if g.engine.Signal(g.spec.StopSignal) == nil {
			timer := time.NewTimer(stopTimeout)
			select {
			case <-exited:
			case <-timer.C:
			}
			timer.Stop()
		}
	}
	killAll(g.engine)
	if word == "" {
		g.removeIfOrphaned()
	}
}

func (g *guard) removeIfOrphaned() {
	if dir := g.spec.RemoveIfOrphaned; dir != "" {
		_ = os.RemoveAll(dir)            // nobody is left to report an error to
		_ = os.Remove(filepath.Dir(dir)) // succeeds only for the last engine in the directory
	}
}
