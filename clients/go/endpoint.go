package sidecall

import (
	"context"
	"crypto/tls"
	"errors"
	"os"
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
	// CommandVariable holds the command that [Spawn] runs, words parted by blanks.
	CommandVariable = "SIDECALL_COMMAND"
)

// maxReceivedBytes bounds a message from the server; servers may be set to more than their
// default of 4 MiB.
const maxReceivedBytes = 64 << 20

// Config says where the sidecar is and what it takes to talk to it.
type Config struct {
	// Endpoint is unix:///path/to.sock, host:port, or any other gRPC target (dns:///…). Empty:
	// SIDECALL_ENDPOINT.
	Endpoint string
	// Token is a bearer token. Empty: SIDECALL_TOKEN, and none where that is empty too.
	Token string
	// TLS turns on TLS. Nil: none.
	TLS *tls.Config
	// DialOptions come after the client's own.
	DialOptions []grpc.DialOption
}

// dial makes a channel. It does not wait for the server.
func (c Config) dial() (*grpc.ClientConn, error) {
	endpoint := c.Endpoint
	if endpoint == "" {
		endpoint = os.Getenv(EndpointVariable)
	}
	if endpoint == "" {
		return nil, errors.New("sidecall: no endpoint: set Config.Endpoint or " + EndpointVariable)
	}
	secret := c.Token
	if secret == "" {
		secret = os.Getenv(TokenVariable)
	}
	transport := insecure.NewCredentials()
	if c.TLS != nil {
		transport = credentials.NewTLS(c.TLS)
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
