package client_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluice/sluice/pkg/app"
	"github.com/sluice/sluice/pkg/client"
	"github.com/sluice/sluice/pkg/extract"
)

// asService is the environment variable that makes the test binary act as the service.
const asService = "CLIENT_TEST_SERVICE"

const testKey = "sk_test_0123456789abcdef0123456789abcdef"

func TestMain(m *testing.M) {
	extract.RunChildIfAsked()
	if os.Getenv(asService) != "" {
		go func() { // stops the service when the test process exits for any reason
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(1)
		}()
		os.Exit(app.Main(app.API, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
	}
	os.Exit(testMain(m))
}

// testMain starts a service and runs the tests and examples with its address and key in the environment.
func testMain(m *testing.M) int {
	stop, err := startService()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	stop()
	if code == 0 {
		http.DefaultClient.CloseIdleConnections()
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

func startService() (stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "client-test-")
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), asService+"=1", "SLUICE_ADDR="+addr, "SLUICE_DATA_DIR="+dir, "SLUICE_API_KEY="+testKey,
		"SLUICE_LOG_LEVEL=warn", "SLUICE_ALLOW_PRIVATE_ADDRESSES=true")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		_ = cmd.Process.Kill() // its data is no longer needed
		_ = cmd.Wait()         // returns an error, because the process was killed
		_ = os.RemoveAll(dir)
	}
	for name, value := range map[string]string{"SLUICE_URL": "http://" + addr, "SLUICE_API_KEY": testKey} {
		if err := os.Setenv(name, value); err != nil {
			stop()
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c, err := client.New("http://"+addr, "", client.WithAttempts(1<<20), client.WithWait(func(ctx context.Context, _ time.Duration) error {
		return sleep(ctx, 10*time.Millisecond)
	}))
	if err == nil {
		defer c.Close()
		_, err = c.GetReadiness(ctx)
	}
	if err != nil {
		stop()
		return nil, fmt.Errorf("waiting for the service: %w", err)
	}
	return stop, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func open(t *testing.T, options ...client.Option) *client.Client {
	t.Helper()
	return openAt(t, os.Getenv("SLUICE_URL"), testKey, options...)
}

func openAt(t *testing.T, address, key string, options ...client.Option) *client.Client {
	t.Helper()
	c, err := client.New(address, key, options...)
	must(t, err)
	t.Cleanup(c.Close)
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newStore(t *testing.T, c *client.Client) string {
	t.Helper()
	made, err := c.CreateDatastore(t.Context(), client.DatastoreCreate{Name: t.Name()})
	must(t, err)
	return made.Id
}

// onlyReader hides Seek, so that the content cannot be read again.
type onlyReader struct{ io.Reader }
