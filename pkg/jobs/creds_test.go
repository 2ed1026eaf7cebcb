package jobs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/sluice/sluice/pkg/domain"
)

// identity is a key pair for an operator, account or user.
type identity struct {
	keys   nkeys.KeyPair
	public string
}

func newIdentity(t testing.TB, make func() (nkeys.KeyPair, error)) identity {
	t.Helper()
	keys, err := make()
	if err != nil {
		t.Fatal(err)
	}
	public, err := keys.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return identity{keys, public}
}

func TestConnectWithACredentialsFile(t *testing.T) {
	t.Parallel()
	operator := newIdentity(t, nkeys.CreateOperator)
	system, account, user := newIdentity(t, nkeys.CreateAccount), newIdentity(t, nkeys.CreateAccount), newIdentity(t, nkeys.CreateUser)
	resolver := &server.MemAccResolver{}
	for _, a := range []identity{system, account} {
		claims := jwt.NewAccountClaims(a.public)
		if a == account {
			claims.Limits.JetStreamLimits = jwt.JetStreamLimits{
				MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit, MaxAckPending: jwt.NoLimit,
			}
		}
		token, err := claims.Encode(operator.keys)
		if err != nil {
			t.Fatal(err)
		}
		if err := resolver.Store(a.public, token); err != nil {
			t.Fatal(err)
		}
	}
	token, err := jwt.NewUserClaims(user.public).Encode(account.keys)
	if err != nil {
		t.Fatal(err)
	}
	seed, err := user.keys.Seed()
	if err != nil {
		t.Fatal(err)
	}
	file, err := jwt.FormatUserConfig(token, seed)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "sluice.creds")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	operatorClaims := jwt.NewOperatorClaims(operator.public)
	srv := serveNATS(t, server.Options{
		JetStream: true, TrustedOperators: []*jwt.OperatorClaims{operatorClaims}, AccountResolver: resolver, SystemAccount: system.public,
	})
	address := srv.Addr().String()
	if conn, err := Connect(testContext(t), ConnectOptions{URL: address, Log: quiet}); !isRefusal(err) {
		if err == nil {
			conn.Close()
		}
		t.Errorf("without credentials: error is %v, want ErrRefused", err)
	}
	conn, err := Connect(testContext(t), ConnectOptions{URL: address, CredsFile: path, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	publish(t, openBroker(t, conn, Options{}), newJob(domain.JobIngest))
}
