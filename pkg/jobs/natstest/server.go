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

// startTimeout is the time limit for starting a server.
const startTimeout = 40 * time.Second

// Server is one server in a cluster.
type Server struct {
	Name string
	URL  string // for clients

	t      testing.TB
	config config

	mu      sync.Mutex
	process *process // nil: not running
}

// process is one run of a server.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	ready chan struct{} // closed once the server serves clients
	ended chan struct{} // closed when the process has exited
}

// Dir returns the server's storage directory.
func (s *Server) Dir() string { return s.config.Dir }

// Start restarts the server with its stored data and returns once it serves clients.
func (s *Server) Start() {
	s.t.Helper()
	s.Launch()
	s.wait()
}

// Launch starts the server like Start, but does not wait for it.
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
		if lines.Scan() { // it prints one line once it serves clients
			close(p.ready)
		}
		for lines.Scan() { // until the process exits
		}
		_ = cmd.Wait() // usually an error, because the process was killed
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

// Kill kills the server without letting it shut down cleanly. It does nothing if the server is not running.
func (s *Server) Kill() { s.signal(syscall.SIGKILL) }

// Stop shuts the server down cleanly and waits until it has exited. The server first hands over the streams it leads.
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
	_ = p.cmd.Process.Signal(syscall.SIGCONT) // resume a paused server so that it can exit
	select {
	case <-p.ended:
	case <-time.After(startTimeout):
		s.t.Errorf("server %s does not end", s.Name)
	}
}

// Pause freezes the server, as if its machine were swapping or the network were down. Its connections stay open, but it
// sends nothing.
func (s *Server) Pause() { s.send(syscall.SIGSTOP) }

// Resume lets a paused server continue. The server does not notice that it was paused.
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

// envServer is the environment variable with a server's configuration. If it is set, the test binary runs that server.
const envServer = "SLUICE_TEST_NATS_SERVER"

type config struct {
	Name        string   `json:"name"`
	Host        string   `json:"host"`
	Port        int      `json:"port"`
	ClusterPort int      `json:"cluster_port"`
	Routes      []string `json:"routes"`
	Dir         string   `json:"dir"`
}

// Main must be the first call in TestMain. If this process was started to run a server, Main runs the server and does
// not return. Otherwise Main does nothing.
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
	srv.Start() // handles signals: SIGTERM causes a clean exit
	if !srv.ReadyForConnections(startTimeout) {
		return fmt.Errorf("server %s is not ready", c.Name)
	}
	fmt.Println("ready")
	// The server also exits when its standard input is closed, so that it does not outlive a killed test.
	_, err = io.Copy(io.Discard, os.Stdin)
	srv.Shutdown()
	return err
}
