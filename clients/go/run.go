package sidecall

import (
	"context"
	"errors"
)

// Run starts a sidecar, connects an agent to it, lets it act, and leaves and stops everything
// again, whatever happens: an agent in one call. The error joins what went wrong.
func Run(
	ctx context.Context, spawn SpawnConfig, config AgentConfig,
	act func(context.Context, *Agent) error,
) (err error) {
	sidecar, err := Spawn(ctx, spawn)
	if err != nil {
		return err
	}
	leave := context.WithoutCancel(ctx)
	defer func() { err = errors.Join(err, sidecar.Stop(leave)) }()
	client, err := Dial(Config{Endpoint: sidecar.Endpoint})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	agent, err := client.Connect(ctx, config)
	if err != nil {
		return err
	}
	defer func() {
		limited, cancel := context.WithTimeout(leave, stopTimeout)
		defer cancel()
		err = errors.Join(err, agent.Close(limited))
	}()
	return act(ctx, agent)
}
