package natstest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// startTimeout bounds the start of a server.
const startTimeout = 40 * time.Second

// Server is one server of a cluster.
type Server struct {
	Name string
	URL  string // of clients

	t      testing.TB
	config config

	mu      sync.Mutex
	process *process // nil: not running
}

// process is one life of a server.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	ready chan struct{} // closed when the server serves
	ended chan struct{} // closed when it is gone
}

// Start runs the server again on what it has stored, and returns when it serves clients.
func (s *Server) Start() {
	s.t.Helper()
	s.Launch()
	s.wait()
}

// Launch is Start without the wait.
func (s *Server) Launch() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	data, err := json.Marshal(s.config)
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0]) //nolint:noctx // it lives until it is killed or stopped
	cmd.Env = append(os.Environ(), envServer+"="+string(data))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	p := &process{cmd: cmd, stdin: stdin, ready: make(chan struct{}), ended: make(chan struct{})}
	s.process = p
	go func() {
		defer close(p.ended)
		lines := bufio.NewScanner(stdout)
		if lines.Scan() { // it says one line, when it serves
			close(p.ready)
		}
		for lines.Scan() { // until it ends
		}
		_ = cmd.Wait() // killed, mostly
	}()
}

func (s *Server) wait() {
	s.t.Helper()
	s.mu.Lock()
	p := s.process
	s.mu.Unlock()
	select {
	case <-p.ready:
	case <-p.ended:
		s.t.Fatalf("server %s ended as it started", s.Name)
	case <-time.After(startTimeout):
		s.t.Fatalf("server %s does not serve after %s", s.Name, startTimeout)
	}
}

// Kill ends the server at once, without a word to anyone. One that does not run is left alone.
func (s *Server) Kill() { s.signal(syscall.SIGKILL) }

// Stop asks the server to end, and waits until it has: it hands over what it leads first.
func (s *Server) Stop() { s.signal(syscall.SIGTERM) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	s.mu.Lock()
	p := s.process
	s.process = nil
	s.mu.Unlock()
	if p == nil {
		return
	}
	_ = p.cmd.Process.Signal(sig)
	_ = p.cmd.Process.Signal(syscall.SIGCONT) // a paused one ends too
	select {
	case <-p.ended:
	case <-time.After(startTimeout):
		s.t.Errorf("server %s does not end", s.Name)
	}
}

// Pause stops the server in its tracks, as a machine does that swaps or a network that is cut: its connections stay open,
// and nothing comes from it.
func (s *Server) Pause() { s.send(syscall.SIGSTOP) }

// Resume lets a paused server go on, believing what it believed.
func (s *Server) Resume() { s.send(syscall.SIGCONT) }

func (s *Server) send(sig syscall.Signal) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		s.t.Fatalf("server %s does not run", s.Name)
	}
	if err := s.process.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// envServer makes the test's binary a server of this configuration.
const envServer = "SLUICE_TEST_NATS_SERVER"

// config is what a server's process is told.
type config struct {
	Name        string   `json:"name"`
	Host        string   `json:"host"`
	Port        int      `json:"port"`
	ClusterPort int      `json:"cluster_port"`
	Routes      []string `json:"routes"`
	Dir         string   `json:"dir"`
}

// Main turns this process into a server, and does not return, if it was started as one. TestMain calls it first.
func Main() {
	data := os.Getenv(envServer)
	if data == "" {
		return
	}
	if err := serve(data); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(data string) error {
	var c config
	if err := json.Unmarshal([]byte(data), &c); err != nil {
		return fmt.Errorf("reading the server's configuration: %w", err)
	}
	var routes string
	for i, r := range c.Routes {
		if i > 0 {
			routes += ","
		}
		routes += r
	}
	srv, err := server.NewServer(&server.Options{
		ServerName: c.Name, Host: c.Host, Port: c.Port,
		Cluster: server.ClusterOpts{Name: "test", Host: c.Host, Port: c.ClusterPort},
		Routes:  server.RoutesFromStr(routes), NoLog: true,
		JetStream: true, StoreDir: c.Dir, JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: 1 << 30, DisableJetStreamBanner: true,
	})
	if err != nil {
		return fmt.Errorf("making server %s: %w", c.Name, err)
	}
	srv.Start() // takes signals: SIGTERM ends the process in good order
	if !srv.ReadyForConnections(startTimeout) {
		return fmt.Errorf("server %s is not ready", c.Name)
	}
	fmt.Println("ready")
	// A server ends with its standard input at the latest, so that none outlives a test that was killed.
	_, err = io.Copy(io.Discard, os.Stdin)
	srv.Shutdown()
	return err
}
