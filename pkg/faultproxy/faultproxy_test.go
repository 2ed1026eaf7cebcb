package faultproxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testTimeout limits each wait, so that a failing test doesn't wait forever. A passing test never waits this long.
const testTimeout = time.Minute

// newEcho starts a proxy in front of a server that echoes everything it receives.
func newEcho(t *testing.T) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	p, err := Start(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(p.Close(), p.Close(), l.Close()); err != nil {
			t.Error(err)
		}
		<-ended
	})
	return p
}

func dial(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(testTimeout)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// echoed sends a text and checks that the same text comes back.
func echoed(conn net.Conn, text string) error {
	if _, err := conn.Write([]byte(text)); err != nil {
		return err
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(conn, got); err != nil {
		return err
	}
	if string(got) != text {
		return errors.New("got " + string(got))
	}
	return nil
}

func TestForwardedDataIsUnchanged(t *testing.T) {
	t.Parallel()
	p := newEcho(t)
	conn := dial(t, p)
	sent := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
	go func() {
		_, _ = conn.Write(sent)
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	got, err := io.ReadAll(conn)
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d of %d bytes came back: %v", len(got), len(sent), err)
	}
}

func TestRefusedConnectionsBreakOldOnesTooAndComeBack(t *testing.T) {
	t.Parallel()
	p := newEcho(t)
	old := dial(t, p)
	if err := echoed(old, "before"); err != nil {
		t.Fatal(err)
	}
	p.Set(Refuse())
	if _, err := old.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("an old connection: %v", err)
	}
	if conn, err := net.Dial("tcp", p.Addr()); err == nil {
		_ = conn.SetDeadline(time.Now().Add(testTimeout))
		if err := echoed(conn, "during"); err == nil || os.IsTimeout(err) {
			t.Errorf("a new connection: %v", err)
		}
		conn.Close()
	}
	p.Set(Pass())
	if err := echoed(dial(t, p), "after"); err != nil {
		t.Error(err)
	}
}

func TestABlackholeAnswersNothingAndReleasesConnections(t *testing.T) {
	t.Parallel()
	p := newEcho(t)
	old := dial(t, p)
	if err := echoed(old, "before"); err != nil {
		t.Fatal(err)
	}
	p.Set(Blackhole())
	fresh := dial(t, p)
	done := make(chan error, 2)
	for _, conn := range []net.Conn{old, fresh} {
		go func() { done <- echoed(conn, "held back") }()
	}
	quiet, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	select {
	case err := <-done:
		t.Errorf("a blackhole has answered: %v", err)
		done <- err
	case <-quiet.Done():
	}
	p.Set(Pass())
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestSlowIsNoFasterThanItsLatencyAndRate(t *testing.T) {
	t.Parallel()
	p := newEcho(t)
	conn := dial(t, p)
	if err := echoed(conn, "before"); err != nil {
		t.Fatal(err)
	}
	p.Set(Slow(20*time.Millisecond, 10_000))
	began := time.Now()
	if err := echoed(conn, string(make([]byte, 200))); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 80*time.Millisecond { // twice the latency, plus twice 20 ms for 200 bytes
		t.Errorf("the round trip took %v", took)
	}
}

func TestAConnectionIsCutAfterABoundedNumberOfBytes(t *testing.T) {
	t.Parallel()
	p := newEcho(t)
	p.Set(CutAfter(15)) // ten bytes there, five back
	conn := dial(t, p)
	if _, err := conn.Write([]byte("0123456789")); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if err == nil || os.IsTimeout(err) {
		t.Errorf("the connection ends with %v", err)
	}
	if len(got) > 5 { // a reset may overtake data sent before it
		t.Errorf("%q has come back", got)
	}
	again := dial(t, p)
	if err := echoed(again, "1234567"); err != nil {
		t.Errorf("14 bytes of a new connection: %v", err)
	}
	p.Set(Pass())
	if err := echoed(again, "uncut"); err != nil {
		t.Error(err)
	}
}

func TestAFlappingServerAlternatesUntilItsModeChanges(t *testing.T) {
	t.Parallel()
	p := newEcho(t)
	p.Set(Flap(5*time.Millisecond, 5*time.Millisecond))
	guard := time.Now().Add(testTimeout)
	attempt := func() error {
		conn, err := net.Dial("tcp", p.Addr())
		if err != nil {
			return err
		}
		defer conn.Close()
		if err := conn.SetDeadline(guard); err != nil {
			return err
		}
		return echoed(conn, "x")
	}
	for _, up := range []bool{true, false, true} {
		for (attempt() == nil) != up {
			if time.Now().After(guard) {
				t.Fatalf("up=%v is never seen", up)
			}
		}
	}
	p.Set(Pass())
	conn := dial(t, p)
	for range 50 {
		if err := echoed(conn, "steady"); err != nil {
			t.Fatal(err)
		}
	}
}
