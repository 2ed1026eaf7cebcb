//go:build linux

package engines

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/jobs/quorum"
)

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestPostgreSQLKeepsWhatWasCommittedThroughAKill(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	p, err := StartPostgreSQL(ctx, t.TempDir(), PostgreSQLOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, p)
	database, err := p.CreateDatabase(ctx, "a \"name\"")
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"CREATE TABLE t (n int)", "INSERT INTO t VALUES (42)"} {
		if err := execute(ctx, database, statement); err != nil {
			t.Fatal(err)
		}
	}
	busy, err := pgx.Connect(ctx, database)
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close(ctx)
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := busy.Ping(ctx); err == nil {
		t.Error("a connection outlives the server")
	}
	refuses(t, p.addr)
	if err := p.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	var n int
	if err := conn.QueryRow(ctx, "SELECT n FROM t").Scan(&n); err != nil || n != 42 {
		t.Errorf("after the kill: %d, %v", n, err)
	}
}

func stop(t *testing.T, e interface{ Stop() error }) {
	t.Helper()
	if err := e.Stop(); err != nil {
		t.Error(err)
	}
}

func refuses(t *testing.T, addr string) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err == nil {
		conn.Close()
		t.Errorf("%s still takes connections", addr)
	}
}

func TestNATSKeepsAStreamWhileEachServerIsKilledInTurn(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	n, err := StartNATS(ctx, t.TempDir(), NATSOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, n)
	conn, err := nats.Connect(n.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	const timeout = 2 * time.Minute // for an election on a busy machine
	stream, _, err := quorum.Ensure(ctx, js, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Replicas: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, server := range n.Servers {
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		refuses(t, server.addr)
		msg := &nats.Msg{Subject: "s", Data: []byte("x")}
		if _, err := quorum.Store(ctx, js, timeout, "S", server.name, msg); err != nil {
			t.Fatalf("publishing without %s: %v", server.name, err)
		}
		if err := server.Restart(ctx); err != nil {
			t.Fatal(err)
		}
		// Without this wait, the next kill would leave all messages on only one of the three servers.
		within(t, timeout, server.name+" has caught up", func() bool {
			asked, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			info, err := stream.Info(asked)
			return err == nil && info.Cluster != nil && info.Cluster.Leader != "" && current(info.Cluster.Replicas)
		})
	}
	info, err := stream.Info(ctx)
	if err != nil || info.State.Msgs < 3 {
		t.Errorf("messages in the end: %+v, %v", info, err)
	}
}

func current(replicas []*jetstream.PeerInfo) bool {
	return !slices.ContainsFunc(replicas, func(r *jetstream.PeerInfo) bool { return !r.Current })
}

// The two servers listen on the same fixed ports, each in its own namespace.
func TestTwoMilvusServersKeepTheirDataThroughAKill(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	first, err := StartMilvus(ctx, t.TempDir(), MilvusOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, first)
	second, err := StartMilvus(ctx, t.TempDir(), MilvusOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, second)
	call(ctx, t, first.Addr(), "/v1/vector/collections/create", `{"collectionName": "ours", "dimension": 2}`)
	call(ctx, t, first.Addr(), "/v1/vector/insert", `{"collectionName": "ours", "data": [{"vector": [0.25, 0.5], "word": "kept"}]}`)
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	refuses(t, first.Addr())
	if names := call(ctx, t, second.Addr(), "/v1/vector/collections", ""); strings.Contains(names, "ours") {
		t.Errorf("the second server has the first one's data: %s", names)
	}
	if err := first.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	// The server answers before it has loaded its earlier data, and may drop the first connections.
	within(t, time.Minute, "the row is found again", func() bool {
		found, err := request(ctx, first.Addr(), "/v1/vector/search", `{"collectionName": "ours", "vector": [0.25, 0.5], "outputFields": ["word"], "limit": 1}`)
		return err == nil && strings.Contains(found, "kept")
	})
}

// call is like request, but fails the test on error.
func call(ctx context.Context, t *testing.T, addr, path, body string) string {
	t.Helper()
	answer, err := request(ctx, addr, path, body)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %s", path, answer)
	return answer
}

// request sends a request (a POST if there is a body, otherwise a GET) to Milvus's HTTP interface and returns the
// answer.
func request(ctx context.Context, addr, path, body string) (string, error) {
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+addr+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return string(answer), err
}

func TestMilvusLiteStartsAgainOnTheSameAddressAfterAKill(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	m, err := StartMilvusLite(ctx, t.TempDir(), MilvusLiteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, m)
	if err := m.Kill(); err != nil {
		t.Fatal(err)
	}
	refuses(t, m.Addr())
	if err := m.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	conn, err := net.DialTimeout("tcp", m.Addr(), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

func TestAnEngineDiesWithItsGuard(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	p, err := StartPostgreSQL(ctx, t.TempDir(), PostgreSQLOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, p)
	if err := p.running.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.running.done
	within(t, 20*time.Second, "the port is closed", func() bool {
		conn, err := net.DialTimeout("tcp", p.addr, time.Second)
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
}

func TestForTestGivesEachTestADatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	for range 2 {
		if err := execute(ctx, PostgreSQLForTest(t), "CREATE TABLE same (n int)"); err != nil {
			t.Error(err)
		}
	}
}

func TestTheBrokerSharesEngines(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	set, err := NewSet(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, set)
	socket := filepath.Join(t.TempDir(), "socket")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: set.Handler()}
	defer srv.Close()
	go srv.Serve(l)
	first, err := askBroker(ctx, socket, askMilvusLite)
	if err != nil {
		t.Fatal(err)
	}
	second, err := askBroker(ctx, socket, askMilvusLite)
	if err != nil || first != second {
		t.Errorf("%q, then %q, %v", first, second, err)
	}
	if err := set.Stop(); err != nil {
		t.Fatal(err)
	}
	refuses(t, first)
	if _, err := askBroker(ctx, socket, askMilvus); err == nil || !strings.Contains(err.Error(), ErrStopped.Error()) {
		t.Errorf("after the end: %v", err)
	}
}

// If this environment variable is set, the test binary starts engines in the given directory, prints their addresses
// and waits to be killed.
const orphanVariable = "LOCAL_ENGINE_ORPHAN"

func orphanIfAsked() {
	dir := os.Getenv(orphanVariable)
	if dir == "" {
		return
	}
	ctx := context.Background()
	out := bufio.NewWriter(os.Stdout)
	p, err := StartPostgreSQL(ctx, filepath.Join(dir, "postgresql"), PostgreSQLOptions{Temporary: true})
	if err != nil {
		panic(err)
	}
	m, err := StartMilvus(ctx, filepath.Join(dir, "milvus"), MilvusOptions{Temporary: true})
	if err != nil {
		panic(err)
	}
	n, err := StartNATS(ctx, filepath.Join(dir, "nats"), NATSOptions{Servers: 1, Temporary: true})
	if err != nil {
		panic(err)
	}
	for _, addr := range []string{p.addr, m.addr, n.Servers[0].addr} {
		out.WriteString(addr + "\n")
	}
	out.Flush()
	select {}
}

func TestEnginesEndWithTheirParent(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "engines")
	cmd := exec.CommandContext(deadline(t), "/proc/self/exe")
	cmd.Env = append(os.Environ(), orphanVariable+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var addrs []string
	for len(addrs) < 3 && lines.Scan() {
		addrs = append(addrs, lines.Text())
	}
	if len(addrs) < 3 {
		t.Fatal("the parent started nothing")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	within(t, 20*time.Second, "the engines are gone", func() bool {
		return !slices.ContainsFunc([]string{"postgresql", "milvus", "nats"}, func(name string) bool {
			_, err := os.Stat(filepath.Join(dir, name))
			return !os.IsNotExist(err)
		})
	})
	for _, addr := range addrs {
		refuses(t, addr)
	}
}

// within polls until the condition holds, because other processes don't report their progress.
func within(t *testing.T, limit time.Duration, what string, true func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !true() {
		select {
		case <-ctx.Done():
			t.Fatalf("not within %s: %s", limit, what)
		case <-tick.C:
		}
	}
}
