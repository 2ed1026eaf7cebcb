package engines

import (
	"context"
	"os"
	"path/filepath"
)

// MilvusLite is Milvus Lite 2.5.2: one small program with Milvus's own segment core. It has sparse vectors and hybrid
// search; it has no HNSW, no partition keys, and every read is strong.
type MilvusLite struct {
	*Process
	addr string
}

// Addr is where the server serves gRPC, "127.0.0.1:port".
func (m *MilvusLite) Addr() string { return m.addr }

// MilvusLiteOptions are the settings of a Milvus Lite. The zero value is good for tests.
type MilvusLiteOptions struct {
	// Temporary says that the directory is to be deleted if this process ends without stopping the engine.
	Temporary bool
}

// StartMilvusLite starts a Milvus Lite with its data in the directory, which is made if it is missing, and returns
// when it serves. The first time on a machine it downloads 56 MB.
func StartMilvusLite(ctx context.Context, dir string, o MilvusLiteOptions) (*MilvusLite, error) {
	lib, err := milvusLiteWheel.install(ctx)
	if err != nil {
		return nil, err
	}
	dir, port, err := prepare(dir)
	if err != nil {
		return nil, err
	}
	addr := loopback(port)
	s := spec{
		Args: []string{filepath.Join(lib, "milvus"), filepath.Join(dir, "lite.db"), addr, "ERROR"},
		// The wheel brings a C library's parts of its own: nobody but the server may see them.
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "GLOG_log_dir=" + dir, "LD_LIBRARY_PATH=" + lib},
		Dir: dir, Log: filepath.Join(dir, "server.log"),
		Ready: readiness{TCP: addr},
	}
	if o.Temporary {
		s.RemoveIfOrphaned = dir
	}
	m := &MilvusLite{addr: addr}
	m.Process = &Process{name: "Milvus Lite", launch: func(ctx context.Context) (*child, error) {
		return launchChild(ctx, s, apart(), nil)
	}}
	if err := m.start(ctx); err != nil {
		return nil, err
	}
	return m, nil
}
