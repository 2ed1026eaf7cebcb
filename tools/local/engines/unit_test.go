//go:build linux

package engines

import (
	"archive/zip"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestThePortOfADirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := portOf(dir, "port")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("stays the same", func(t *testing.T) {
		if again, err := portOf(dir, "port"); err != nil || again != first {
			t.Errorf("%d, then %d, %v", first, again, err)
		}
	})
	t.Run("is refused while another program has it", func(t *testing.T) {
		l, err := net.Listen("tcp4", loopback(first))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if _, err := portOf(dir, "port"); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "port")) {
			t.Errorf("the error is %v", err)
		}
	})
	t.Run("is refused if it is no port", func(t *testing.T) {
		for _, text := range []string{"", "x", "0", "65536", "-1"} {
			if err := os.WriteFile(filepath.Join(dir, "bad"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if port, err := portOf(dir, "bad"); err == nil {
				t.Errorf("%q is port %d", text, port)
			}
		}
	})
	t.Run("lies below those that the system gives to clients", func(t *testing.T) {
		text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
		if err != nil {
			t.Fatal(err)
		}
		if low, err := strconv.Atoi(strings.Fields(string(text))[0]); err == nil && low > lastPort && first >= low {
			t.Errorf("port %d is not below %d", first, low)
		}
	})
}

func TestAReservedPortIsNotGivenAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const first, last = 19000, 19039
	var mu sync.Mutex
	owners := map[int]int{}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			port, err := reservePort(dir, first, last)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if other, taken := owners[port]; taken {
				t.Errorf("port %d is given to %d and %d", port, other, i)
			}
			owners[port] = i
		})
	}
	all.Wait()
	for {
		port, err := reservePort(dir, first, last)
		if err != nil {
			break // all others are in use
		}
		owners[port] = -1
	}
	if _, err := reservePort(dir, first, last); err == nil {
		t.Fatal("a port is given although all are reserved")
	}
	var ended int
	for ended = range owners {
	}
	old := time.Now().Add(-2 * reservation)
	if err := os.Chtimes(filepath.Join(dir, strconv.Itoa(ended)), old, old); err != nil {
		t.Fatal(err)
	}
	if port, err := reservePort(dir, first, last); err != nil || port != ended {
		t.Errorf("port %d, %v, want %d, whose reservation has ended", port, err, ended)
	}
}

func TestAWheelIsCheckedAndUnpacked(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x.whl")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for name, text := range map[string]string{"p/bin/server": "program", "p/bin/lib/one": "library", "p/other": "", "q/x": ""} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	w := wheel{name: "x", prefix: "p/bin/", sha256: strings.Repeat("0", 64)}
	t.Run("another content than the pinned one is refused", func(t *testing.T) {
		if err := w.check(file); err == nil || !strings.Contains(err.Error(), w.sha256) {
			t.Errorf("the error is %v", err)
		}
	})
	t.Run("only what lies below the prefix is unpacked", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "unpacked")
		if err := w.unpack(t.Context(), file, dir); err != nil {
			t.Fatal(err)
		}
		var found []string
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				found = append(found, strings.TrimPrefix(path, dir))
			}
			return err
		})
		if got := strings.Join(found, " "); err != nil || got != "/lib/one /server" {
			t.Errorf("unpacked: %q, %v", got, err)
		}
	})
}

func TestAnAddressOfPostgreSQLThatIsNoURLIsNotRepeated(t *testing.T) {
	t.Parallel()
	_, err := createDatabase(t.Context(), "host=x password=secret", "d")
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("the error is %v", err)
	}
}
