package jobs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// minVersion is the first NATS version with pinned consumers. ConsumeBatches relies on them.
const minVersion = "2.11"

func isSupportedVersion(version string) bool {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return true // a custom build: assume that it is recent enough
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	return err1 != nil || err2 != nil || major > 2 || major == 2 && minor >= 11
}

// identity returns the options for the client's credentials and the servers' certificates.
func (o ConnectOptions) identity() ([]nats.Option, error) {
	if err := checkAddresses(o.URL); err != nil {
		return nil, err
	}
	var opts []nats.Option
	if o.Token != "" {
		opts = append(opts, nats.Token(o.Token))
	}
	if o.CredsFile != "" {
		if _, err := os.ReadFile(o.CredsFile); err != nil {
			return nil, fmt.Errorf("%w: reading the NATS credentials: %w", ErrRefused, err)
		}
		opts = append(opts, nats.UserCredentials(o.CredsFile)) // reread for every connection, in case it was renewed
	}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("%w: reading the CA file for the NATS servers: %w", ErrRefused, err)
		}
		if !x509.NewCertPool().AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%w: %s (NATS_CA) contains no PEM certificate", ErrRefused, o.CAFile)
		}
		opts = append(opts, nats.RootCAs(o.CAFile))
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		return nil, fmt.Errorf("%w: NATS_CERT and NATS_KEY must be set together", ErrRefused)
	}
	if o.CertFile != "" {
		if _, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile); err != nil {
			return nil, fmt.Errorf("%w: reading the client certificate for NATS (%s, %s): %w", ErrRefused, o.CertFile, o.KeyFile, err)
		}
		opts = append(opts, nats.ClientCert(o.CertFile, o.KeyFile))
	}
	return opts, nil
}

// checkAddresses validates a list of addresses. Its errors don't quote them, because they may contain passwords.
func checkAddresses(list string) error {
	if strings.TrimSpace(list) == "" {
		return fmt.Errorf("%w: no NATS address is set, and there is no embedded server", ErrRefused)
	}
	for i, address := range strings.Split(list, ",") {
		address = strings.TrimSpace(address)
		if !strings.Contains(address, "://") {
			address = "nats://" + address
		}
		u, err := url.Parse(address)
		if err != nil || u.Hostname() == "" {
			return fmt.Errorf("%w: NATS address %d must have the form nats://host:4222", ErrRefused, i+1)
		}
		switch u.Scheme {
		case "nats", "tls", "ws", "wss":
		default:
			return fmt.Errorf("%w: NATS address %d must begin with nats:// or tls://, but begins with %s://", ErrRefused, i+1, u.Scheme)
		}
	}
	return nil
}

// addresses formats a list of addresses for messages, omitting users, passwords and tokens.
func addresses(list string) string {
	shown := strings.Split(list, ",")
	for i, address := range shown {
		address = strings.TrimSpace(address)
		scheme, rest, ok := strings.Cut(address, "://")
		if !ok {
			scheme, rest = "nats", address
		}
		if at := strings.LastIndex(rest, "@"); at >= 0 {
			rest = rest[at+1:]
		}
		shown[i] = scheme + "://" + rest
	}
	return strings.Join(shown, ", ")
}

func isRefusal(err error) bool { return errors.Is(err, ErrRefused) }

// explain adds the cause and a remedy to a connection error.
func explain(err error, o ConnectOptions) error {
	if o.InProcess != nil {
		return fmt.Errorf("connecting to the embedded NATS server: %w", err)
	}
	servers := addresses(o.URL)
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked),
		errors.Is(err, nats.ErrAccountAuthExpired), errors.Is(err, nats.ErrNkeysNotSupported):
		return fmt.Errorf("%w: NATS at %s rejected the credentials: check the user and password in its address, the token, or the credentials file: %w",
			ErrRefused, servers, err)
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled):
		return fmt.Errorf("%w: NATS at %s runs without JetStream: start the servers with -js and a store directory: %w", ErrRefused, servers, err)
	case errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return fmt.Errorf("%w: NATS at %s has no JetStream for this account: enable it there, or use another account: %w", ErrRefused, servers, err)
	case errors.As(err, &certificate):
		return fmt.Errorf("%w: the certificate of the NATS server at %s is not trusted: set NATS_CA to the certificate of the authority that signed it: %w", ErrRefused, servers, err)
	case errors.Is(err, nats.ErrSecureConnWanted):
		return fmt.Errorf("%w: NATS at %s does not speak TLS: use nats://, or enable TLS there: %w", ErrRefused, servers, err)
	case errors.Is(err, nats.ErrSecureConnRequired), strings.Contains(err.Error(), "tls: "):
		return fmt.Errorf("%w: NATS at %s rejected the TLS settings: check the CA file, client certificate and key: %w", ErrRefused, servers, err)
	}
	return fmt.Errorf("cannot reach NATS at %s: start it, or correct its address: %w", servers, err)
}
