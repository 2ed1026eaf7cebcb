package engines

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// Milvus is a standalone Milvus 2.3.5 with all its dependencies in one process. It supports HNSW, databases, partition
// keys and consistency levels, but no sparse vectors.
//
// It always listens on all of the machine's addresses, and two of its ports are fixed. It therefore runs in a network
// namespace that has only loopback, and its guard process forwards connections into the namespace.
type Milvus struct {
	*Process
	addr string
}

// Addr returns the gRPC address, "127.0.0.1:port".
func (m *Milvus) Addr() string { return m.addr }

// MilvusOptions are the options for StartMilvus. The zero value suits tests.
type MilvusOptions struct {
	// Temporary deletes the directory if this process exits without stopping the engine.
	Temporary bool
}

// StartMilvus starts a Milvus with its data in the directory, which it creates if necessary, and waits until it is
// ready. The first start on a machine downloads 58 MB. It requires root or permission to create user namespaces.
func StartMilvus(ctx context.Context, dir string, o MilvusOptions) (*Milvus, error) {
	bin, err := milvusWheel.install(ctx)
	if err != nil {
		return nil, err
	}
	dir, port, err := prepare(dir)
	if err != nil {
		return nil, err
	}
	if err := writeMilvusConfig(dir); err != nil {
		return nil, err
	}
	s := spec{
		Args: []string{filepath.Join(bin, "milvus"), "run", "standalone"},
		Env: []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "LD_LIBRARY_PATH=" + bin,
			"DEPLOY_MODE=STANDALONE", "METRICS_PORT=9091",
		},
		Dir: dir, Log: filepath.Join(dir, "server.log"),
		Isolated: true, Forward: "127.0.0.1:19530",
		Ready: readiness{HTTP: "http://127.0.0.1:9091/healthz"},
	}
	if o.Temporary {
		s.RemoveIfOrphaned = dir
	}
	m := &Milvus{addr: loopback(port)}
	m.Process = &Process{name: "Milvus", launch: func(ctx context.Context) (*child, error) {
		l, err := listen(ctx, port)
		if err != nil {
			return nil, err
		}
		defer l.Close()
		return launchChild(ctx, s, inNamespaces(), l)
	}}
	if err := m.start(ctx); err != nil {
		return nil, err
	}
	return m, nil
}

// milvusConfig holds the settings that differ from the server's defaults. The ports have no defaults and must be
// distinct. They can't collide with others on this machine, because Milvus has its own network namespace.
const milvusConfig = `etcd:
  endpoints: localhost:2379
  use: {embed: true}
  data: {dir: %[1]q}
  log: {level: warn, path: %[2]q}
metastore: {type: etcd}
mq: {type: rocksmq}
rocksmq: {path: %[3]q}
localStorage: {path: %[4]q}
common:
  storageType: local
  session: {ttl: 5} # 30: a restart after a crash waits that long
proxy: {port: 19530, internalPort: 19529, timeTickInterval: 20} # 200: every strong read waits for a tick
rootCoord: {port: 53100, dmlChannelNum: 4} # 16
queryCoord: {port: 19531, checkInterval: 200, distPullInterval: 100} # 1000, 500
queryNode: {port: 21123}
indexCoord: {port: 22930}
indexNode: {port: 21121}
dataCoord: {port: 13333}
dataNode: {port: 21124}
quotaAndLimits: {enabled: false}
log: {level: warn}
`

// milvusGlog configures logging for the C++ part, which aborts without this file.
const milvusGlog = `--logtostdout=false
--logtostderr=false
--alsologtostderr=false
--minloglevel=2
--log_dir=%s
`

func writeMilvusConfig(dir string) error {
	configs := filepath.Join(dir, "configs") // must be below the working directory
	if err := os.MkdirAll(configs, 0o700); err != nil {
		return fmt.Errorf("configuring Milvus: %w", err)
	}
	for name, text := range map[string]string{
		"milvus.yaml": fmt.Sprintf(milvusConfig, filepath.Join(dir, "etcd"), filepath.Join(dir, "etcd.log"), filepath.Join(dir, "rocksmq"), filepath.Join(dir, "segments")),
		"glog.conf":   fmt.Sprintf(milvusGlog, dir),
	} {
		if err := os.WriteFile(filepath.Join(configs, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("configuring Milvus: %w", err)
		}
	}
	return nil
}

// prepare creates an engine's directory and returns its absolute path and the engine's port.
func prepare(dir string) (string, int, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", 0, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", 0, fmt.Errorf("making the directory of an engine: %w", err)
	}
	port, err := portOf(dir, "port")
	if err != nil {
		return "", 0, fmt.Errorf("choosing a port: %w", err)
	}
	return dir, port, nil
}
