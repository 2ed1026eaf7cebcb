package engines

import (
	"context"
	"os"
	"path/filepath"
)

// MilvusLite is Milvus Lite 2.5.2, a small program built on Milvus's segment core. It supports sparse vectors and
// hybrid search, but neither HNSW nor partition keys, and all reads are strongly consistent.
type MilvusLite struct {
	*Process
	addr string
}

// Addr returns the server's gRPC address.
func (m *MilvusLite) Addr() string { return m.addr }

// MilvusLiteOptions are the options for StartMilvusLite. The zero value suits tests.
type MilvusLiteOptions struct {
	// Temporary deletes the directory if this process exits without stopping the engine.
	Temporary bool
}

// StartMilvusLite starts a Milvus Lite with its data in the directory, which it creates if necessary, and waits until
// it is ready. The first start on a machine downloads 56 MB.
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
		// The wheel bundles copies of parts of the C library. Only the server may load them, so only the server gets this
		// library path.
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "GLOG_log_dir=" + dir, "LD_LIBRARY_PATH=" + lib},
		Dir: dir, Log: filepath.Join(dir, "server.log"),
		Ready: readiness{TCP: addr},
	}
	if o.Temporary {
		s.RemoveIfOrphaned = dir
	}
	m := &MilvusLite{addr: addr}
	m.Process = &Process{name: "Milvus Lite", launch: func(ctx context.Context) (*child, error) {
		return launchChild(ctx, s, inNewSession(), nil)
	}}
	if err := m.start(ctx); err != nil {
		return nil, err
	}
	return m, nil
}
