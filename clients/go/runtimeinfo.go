package sidecall

import (
	"context"
	"time"

	pb "github.com/sidecall/sidecall/clients/go/sidecallv1"
)

// RuntimeInfo is what a sidecar says about itself.
type RuntimeInfo struct {
	// ServerVersion is its version.
	ServerVersion string
	// ServerInstanceID is another one at each start of the server.
	ServerInstanceID string
	// ProtocolVersions are the versions of the stream that it speaks.
	ProtocolVersions []uint32
	// Features are what it has beyond the protocol.
	Features []string
	// Draining says that it takes no new sessions and calls.
	Draining bool
	// RecorderEnabledByDefault says whether calls are recorded where a session does not say.
	RecorderEnabledByDefault bool
	// Limits are what it takes at most.
	Limits Limits
}

// Limits are what a sidecar takes at most.
type Limits struct {
	// MaxSessions bounds the sessions at a time.
	MaxSessions uint32
	// MaxCallsInFlight bounds the open calls of a session.
	MaxCallsInFlight uint32
	// MaxBytesInFlight bounds the bytes of payloads and results of a session's open calls.
	MaxBytesInFlight uint64
	// MaxMessageBytes bounds one gRPC message.
	MaxMessageBytes uint64
	// MaxFrameBytes bounds one dispatch, result or verdict.
	MaxFrameBytes uint64
	// MaxDeclarations bounds the tools and hooks of a session.
	MaxDeclarations uint32
	// MaxRetainedCalls bounds the ended calls of a session that can be read.
	MaxRetainedCalls uint32
	// ResumeGrace is how long a lost agent may take to come back.
	ResumeGrace time.Duration
	// SessionIdleTimeout is how long a session may be idle.
	SessionIdleTimeout time.Duration
	// HeartbeatInterval is how often each side says something.
	HeartbeatInterval time.Duration
	// HeartbeatTimeout is how long the other side may be silent.
	HeartbeatTimeout time.Duration
	// MaxTeardownTimeout bounds the teardown that a tool may ask for.
	MaxTeardownTimeout time.Duration
	// DefaultHookTimeout is the time of a hook that names none.
	DefaultHookTimeout time.Duration
}

// RuntimeInfo asks the sidecar about itself.
func (c *Client) RuntimeInfo(ctx context.Context) (RuntimeInfo, error) {
	read, err := c.runtime.GetRuntimeInfo(ctx, &pb.GetRuntimeInfoRequest{})
	if err != nil {
		return RuntimeInfo{}, wireError(err)
	}
	limits := read.GetLimits()
	return RuntimeInfo{
		ServerVersion:            read.GetServerVersion(),
		ServerInstanceID:         read.GetServerInstanceId(),
		ProtocolVersions:         read.GetProtocolVersions(),
		Features:                 read.GetFeatures(),
		Draining:                 read.GetDraining(),
		RecorderEnabledByDefault: read.GetRecorderEnabledByDefault(),
		Limits: Limits{
			MaxSessions:        limits.GetMaxSessions(),
			MaxCallsInFlight:   limits.GetMaxCallsInFlight(),
			MaxBytesInFlight:   limits.GetMaxBytesInFlight(),
			MaxMessageBytes:    limits.GetMaxMessageBytes(),
			MaxFrameBytes:      limits.GetMaxFrameBytes(),
			MaxDeclarations:    limits.GetMaxDeclarations(),
			MaxRetainedCalls:   limits.GetMaxRetainedCalls(),
			ResumeGrace:        limits.GetResumeGrace().AsDuration(),
			SessionIdleTimeout: limits.GetSessionIdleTimeout().AsDuration(),
			HeartbeatInterval:  limits.GetHeartbeatInterval().AsDuration(),
			HeartbeatTimeout:   limits.GetHeartbeatTimeout().AsDuration(),
			MaxTeardownTimeout: limits.GetMaxTeardownTimeout().AsDuration(),
			DefaultHookTimeout: limits.GetDefaultHookTimeout().AsDuration(),
		},
	}, nil
}
