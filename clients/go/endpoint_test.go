package sidecall_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	sidecall "github.com/sidecall/sidecall/clients/go"
)

func TestTheEnvironmentSaysWhereTheSidecarIs(t *testing.T) {
	sidecar, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(sidecall.EndpointVariable, sidecar.Endpoint)
	client, err := sidecall.Dial(sidecall.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.RuntimeInfo(limited(t)); err != nil {
		t.Error(err)
	}
}

func TestTheDefaultEndpointIsTheUsersSocket(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "with space")
	t.Setenv("XDG_RUNTIME_DIR", folder)
	want := "unix://" + strings.ReplaceAll(folder, " ", "%20") + "/sidecall/sidecall.sock"
	if got := sidecall.DefaultEndpoint(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	t.Setenv("XDG_RUNTIME_DIR", "")
	if got := sidecall.DefaultEndpoint(); !strings.Contains(got, "/sidecall-") {
		t.Errorf("without a runtime folder: %s", got)
	}
}

func TestAServerOnTCP(t *testing.T) {
	sidecar := listening(t)
	for _, endpoint := range []string{sidecar, "tcp://" + sidecar} {
		client := dial(t, endpoint)
		agent := connectTo(t, client, sidecall.AgentConfig{Tools: []sidecall.Tool{mirror}})
		outcome := outcomeOf(t, agent.Dispatch(t.Context(), call("turn", "id", "mirror")))
		if outcome.Kind != sidecall.Completed {
			t.Errorf("%s: %s", endpoint, outcome.Kind)
		}
	}
}

// listening starts a sidecar on a free port of the loopback interface and gives its address.
func listening(t *testing.T, flags ...string) string {
	t.Helper()
	path, err := executable()
	if err != nil {
		t.Fatal(err)
	}
	sidecar := exec.Command(path, append([]string{"serve", "--listen", "127.0.0.1:0"}, flags...)...)
	stdout, err := sidecar.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := sidecar.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = sidecar.Process.Signal(syscall.SIGTERM) // its end is what counts
		if err := sidecar.Wait(); err != nil {
			t.Error(err)
		}
	})
	var ready struct{ Address string }
	if err := json.NewDecoder(stdout).Decode(&ready); err != nil {
		t.Fatal(err)
	}
	return ready.Address
}

func TestMutualTLSWithABearerToken(t *testing.T) {
	files := newAuthority(t)
	address := listening(t,
		"--tls-certificate", files.path("server.pem"), "--tls-key", files.path("server.key"),
		"--tls-client-ca", files.path("ca.pem"), "--bearer-token-file", files.path("tokens"))
	secure := &tls.Config{
		RootCAs: files.pool, Certificates: []tls.Certificate{files.client}, ServerName: "localhost",
	}
	info := func(config sidecall.Config) error {
		config.Endpoint = "tls://" + address
		client, err := sidecall.Dial(config)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		_, err = client.RuntimeInfo(limited(t))
		return err
	}
	if err := info(sidecall.Config{TLS: secure, Token: "secret"}); err != nil {
		t.Error(err)
	}
	var refusal *sidecall.Error
	err := info(sidecall.Config{TLS: secure, Token: "wrong"})
	if !errors.As(err, &refusal) || refusal.Reason != "UNAUTHENTICATED" {
		t.Errorf("with a wrong token: %v", err)
	}
	if err := info(sidecall.Config{Token: "secret"}); err == nil {
		t.Error("a server that nobody vouches for was trusted")
	}
}

// authority is a certificate authority with a server's and a client's certificate.
type authority struct {
	folder string
	pool   *x509.CertPool
	client tls.Certificate
}

func (a authority) path(name string) string { return filepath.Join(a.folder, name) }

func newAuthority(t *testing.T) authority {
	t.Helper()
	made := authority{folder: t.TempDir(), pool: x509.NewCertPool()}
	root := certificate(t, made.path("ca"), nil, nil)
	made.pool.AddCert(root.Leaf)
	certificate(t, made.path("server"), root.Leaf, root.PrivateKey.(*ecdsa.PrivateKey))
	made.client = certificate(t, made.path("client"), root.Leaf, root.PrivateKey.(*ecdsa.PrivateKey))
	if err := os.WriteFile(made.path("tokens"), []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return made
}

// certificate makes and writes a certificate and its key. Nobody signs it: an authority.
func certificate(
	t *testing.T, path string, signer *x509.Certificate, signerKey *ecdsa.PrivateKey,
) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: filepath.Base(path)},
		NotBefore:    time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IsCA: signer == nil, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	if signer == nil {
		signer, signerKey = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer, key.Public(), signerKey)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	chain := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	secret := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	for name, text := range map[string][]byte{".pem": chain, ".key": secret} {
		if err := os.WriteFile(path+name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pair, err := tls.X509KeyPair(chain, secret)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}
