package sidecall

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// Environment variables that say what a [Config] leaves open.
const (
	// EndpointVariable holds the address of the sidecar.
	EndpointVariable = "SIDECALL_ENDPOINT"
	// TokenVariable holds a bearer token.
	TokenVariable = "SIDECALL_TOKEN"
	// ExecutableVariable holds the path of the program that [Spawn] runs.
	ExecutableVariable = "SIDECALL_BIN"
)

// maxReceivedBytes bounds a message from the server; servers may be set to more than their
// default of 4 MiB.
const maxReceivedBytes = 64 << 20

// Config says where the sidecar is and what it takes to talk to it.
type Config struct {
	// Endpoint is unix:///path/to.sock, host:port or tcp://host:port (plain; for the loopback
	// interface only), tls://host:port, or any other gRPC target (dns:///…). Empty:
	// SIDECALL_ENDPOINT, and [DefaultEndpoint] where that is empty too.
	Endpoint string
	// Token is a bearer token. Empty: SIDECALL_TOKEN, and none where that is empty too.
	Token string
	// TLS turns TLS on and holds the authority that signed the server (RootCAs) and the client's
	// certificate (Certificates). Nil: TLS with the system's authorities for tls:// endpoints,
	// none for others.
	TLS *tls.Config
	// DialOptions come after the client's own.
	DialOptions []grpc.DialOption
}

// DefaultEndpoint is where this user's sidecar listens when nobody says otherwise.
func DefaultEndpoint() string {
	folder := filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "sidecall")
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(os.TempDir(), fmt.Sprintf("sidecall-%d", os.Geteuid()))
	}
	socket := url.URL{Scheme: "unix", Path: filepath.Join(folder, "sidecall.sock")}
	return socket.String()
}

// endpoint gives the address, from wherever it is said.
func (c Config) endpoint() string {
	for _, said := range []string{c.Endpoint, os.Getenv(EndpointVariable)} {
		if said != "" {
			return said
		}
	}
	return DefaultEndpoint()
}

// dial makes a channel. It does not wait for the server.
func (c Config) dial() (*grpc.ClientConn, error) {
	endpoint, secure := c.endpoint(), c.TLS
	if address, isTLS := strings.CutPrefix(endpoint, "tls://"); isTLS {
		endpoint = address
		if secure == nil {
			secure = &tls.Config{MinVersion: tls.VersionTLS12}
		}
	}
	endpoint = strings.TrimPrefix(endpoint, "tcp://")
	transport := insecure.NewCredentials()
	if secure != nil {
		transport = credentials.NewTLS(secure)
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxReceivedBytes)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{
				BaseDelay: backoffBase, Multiplier: 2, Jitter: 0.2, MaxDelay: backoffMax,
			},
			MinConnectTimeout: 5 * time.Second,
		}),
	}
	secret := c.Token
	if secret == "" {
		secret = os.Getenv(TokenVariable)
	}
	if secret != "" {
		options = append(options, grpc.WithPerRPCCredentials(bearer(secret)))
	}
	if strings.HasPrefix(endpoint, "unix:") {
		options = append(options, grpc.WithAuthority("localhost"))
	}
	return grpc.NewClient(endpoint, append(options, c.DialOptions...)...)
}

// bearer is a token that goes with every rpc, also without TLS: a unix socket is private, and a
// server refuses tokens on other plain sockets by itself.
type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

func (b bearer) RequireTransportSecurity() bool { return false }
