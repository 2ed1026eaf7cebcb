package jobs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/sluice/sluice/pkg/domain"
)

// serveNATS runs a NATS server with the given options, without package natsd.
func serveNATS(t testing.TB, o server.Options) *server.Server {
	t.Helper()
	o.Host, o.Port, o.NoLog, o.NoSigs = "127.0.0.1", server.RANDOM_PORT, true, true
	o.StoreDir = t.TempDir()
	srv, err := server.NewServer(&o)
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	if !srv.ReadyForConnections(testTimeout) {
		t.Fatal("the server is not ready")
	}
	return srv
}

func TestConnectSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	guarded := serveNATS(t, server.Options{JetStream: true, Username: "sluice", Password: "s3cret"}).Addr().String()
	bare := serveNATS(t, server.Options{}).Addr().String()
	missing := filepath.Join(t.TempDir(), "missing")
	junk := filepath.Join(t.TempDir(), "junk.pem")
	if err := os.WriteFile(junk, []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		options ConnectOptions
		refused bool
		words   []string
	}{
		"a wrong password":             {ConnectOptions{URL: "nats://sluice:gue55ed@" + guarded}, true, []string{guarded, "credentials"}},
		"a token where none is wanted": {ConnectOptions{URL: guarded, Token: "gue55ed"}, true, []string{guarded, "credentials"}},
		"no JetStream":                 {ConnectOptions{URL: "nats://" + bare}, true, []string{bare, "without JetStream", "-js"}},
		"TLS where there is none":      {ConnectOptions{URL: "tls://" + bare}, true, []string{bare, "does not speak TLS"}},
		"nobody there":                 {ConnectOptions{URL: "nats://x:gue55ed@127.0.0.1:1, 127.0.0.1:2"}, false, []string{"nats://127.0.0.1:1, nats://127.0.0.1:2", "start it"}},
		"no address":                   {ConnectOptions{URL: " "}, true, []string{"no NATS address is set"}},
		"another protocol":             {ConnectOptions{URL: "nats://" + bare + ",http://x:gue55ed@h:1"}, true, []string{"address 2", "http://", "tls://"}},
		"an address of nonsense":       {ConnectOptions{URL: "nats://gue55ed@:4222"}, true, []string{"address 1", "nats://host:4222"}},
		"no credentials file":          {ConnectOptions{URL: bare, CredsFile: missing}, true, []string{missing}},
		"no authority file":            {ConnectOptions{URL: bare, CAFile: missing}, true, []string{missing}},
		"an authority that is none":    {ConnectOptions{URL: bare, CAFile: junk}, true, []string{junk, "PEM"}},
		"a certificate without a key":  {ConnectOptions{URL: bare, CertFile: junk}, true, []string{"must be set together"}},
		"a certificate that is none":   {ConnectOptions{URL: bare, CertFile: junk, KeyFile: junk}, true, []string{junk}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := c.options
			o.Log, o.StartTimeout = quiet, 5*time.Second
			if !c.refused {
				o.StartTimeout = 50 * time.Millisecond
			}
			conn, err := Connect(testContext(t), o)
			if err == nil {
				conn.Close()
				t.Fatal("connected")
			}
			if errors.Is(err, ErrRefused) != c.refused {
				t.Errorf("refused for good is %t, want %t: %v", !c.refused, c.refused, err)
			}
			for _, word := range c.words {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q is missing in: %v", word, err)
				}
			}
			if strings.Contains(err.Error(), "gue55ed") {
				t.Errorf("a secret is told: %v", err)
			}
		})
	}
}

func TestOldServersAreRefused(t *testing.T) {
	t.Parallel()
	for version, fit := range map[string]bool{
		"2.10.29": false, "1.4.1": false, "2.11.0": true, "v2.11.4": true, "2.15.2": true, "3.0.0": true, "custom": true, "": true,
	} {
		if isSupportedVersion(version) != fit {
			t.Errorf("version %q: fit is %t, want %t", version, !fit, fit)
		}
	}
}

func TestConnectAuthenticates(t *testing.T) {
	t.Parallel()
	authority, serverPair, clientCert, clientKey := certificates(t)
	pool := x509.NewCertPool()
	pem, err := os.ReadFile(authority)
	if err != nil || !pool.AppendCertsFromPEM(pem) {
		t.Fatalf("authority: %v", err)
	}
	secured := serveNATS(t, server.Options{
		JetStream: true, TLS: true, TLSVerify: true, TLSTimeout: 5,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{serverPair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert},
	}).Addr().String()
	guarded := serveNATS(t, server.Options{JetStream: true, Username: "sluice", Password: "s3cret"}).Addr().String()

	for name, o := range map[string]ConnectOptions{
		"with a certificate":          {URL: "tls://" + secured, CAFile: authority, CertFile: clientCert, KeyFile: clientKey},
		"with a user and a password":  {URL: "nats://sluice:s3cret@" + guarded},
		"at the second of two places": {URL: "nats://127.0.0.1:1,nats://sluice:s3cret@" + guarded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o.Log = quiet
			conn, err := Connect(testContext(t), o)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			publish(t, openBroker(t, conn, Options{}), newJob(domain.JobIngest))
		})
	}
	for name, o := range map[string]ConnectOptions{
		"an unknown authority":    {URL: "tls://" + secured, CertFile: clientCert, KeyFile: clientKey},
		"no client's certificate": {URL: "tls://" + secured, CAFile: authority},
	} {
		t.Run(name+" is refused", func(t *testing.T) {
			t.Parallel()
			o.Log = quiet
			conn, err := Connect(testContext(t), o)
			if err == nil {
				conn.Close()
			}
			if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), secured) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

// certificates creates a certificate authority, a server certificate and a client certificate. It returns the paths to
// the authority's and the client's files.
func certificates(t testing.TB) (authority string, serverPair tls.Certificate, clientCert, clientKey string) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	template := func(serial int64, name string) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true,
		}
	}
	newKey := func() *ecdsa.PrivateKey {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	root, rootKey := template(1, "authority"), newKey()
	root.IsCA = true
	sign := func(c *x509.Certificate, key *ecdsa.PrivateKey) []byte {
		der, err := x509.CreateCertificate(rand.Reader, c, root, key.Public(), rootKey)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	authority = write("ca.pem", "CERTIFICATE", sign(root, rootKey))
	serverKey := newKey()
	serverPair = tls.Certificate{Certificate: [][]byte{sign(template(2, "server"), serverKey)}, PrivateKey: serverKey}
	key := newKey()
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return authority, serverPair, write("client.pem", "CERTIFICATE", sign(template(3, "client"), key)), write("client.key", "EC PRIVATE KEY", der)
}
