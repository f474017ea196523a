package sidecall_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	sidecall "github.com/sidecall/sidecall/clients/go"
)

// orphanVariable turns the test binary into an agent that starts a sidecar and is killed.
const orphanVariable = "SIDECALL_TEST_ORPHAN"

func spawnAndWait() {
	sidecar, err := sidecall.Spawn(context.Background(),
		sidecall.SpawnConfig{Executable: os.Getenv(orphanVariable)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(sidecar.PID)
	select {}
}

func TestASpawnedSidecarEndsWithItsAgentEvenWhenThatIsKilled(t *testing.T) {
	path, err := executable()
	if err != nil {
		t.Fatal(err)
	}
	agent := exec.Command(os.Args[0])
	agent.Env = append(os.Environ(), orphanVariable+"="+path)
	stdout, err := agent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(line, &pid); err != nil {
		t.Fatalf("it said %q", line)
	}
	if err := agent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = agent.Wait() // it was killed
	for end := time.Now().Add(patience); syscall.Kill(pid, 0) == nil; {
		if time.Now().After(end) {
			t.Fatalf("the sidecar %d lives on", pid)
		}
		time.Sleep(10 * time.Millisecond) // polls a process that is not ours to wait for
	}
}

func TestSpawnSaysWhyItFailed(t *testing.T) {
	path, err := executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		config sidecall.SpawnConfig
		says   string
	}{
		{sidecall.SpawnConfig{Executable: "/nowhere/sidecall"}, "no such file"},
		{sidecall.SpawnConfig{Executable: path, Args: []string{"--nonsense"}}, "--nonsense"},
		{sidecall.SpawnConfig{Executable: "echo"}, "did not say that it is ready"},
	} {
		_, err := sidecall.Spawn(t.Context(), test.config)
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%v: got %v", test.config, err)
		}
	}
}

func TestStopEndsTheSidecarWell(t *testing.T) {
	path, err := executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(sidecall.ExecutableVariable, path)
	log := sidecall.NewHeadTail(1 << 16)
	sidecar, err := sidecall.Spawn(t.Context(), sidecall.SpawnConfig{Stderr: log})
	if err != nil {
		t.Fatal(err)
	}
	if sidecar.Version == "" || !strings.HasPrefix(sidecar.Endpoint, "unix:///") {
		t.Errorf("ready: %+v", sidecar)
	}
	if err := sidecar.Stop(t.Context()); err != nil {
		t.Errorf("%v\n%s", err, log.Bytes())
	}
	if syscall.Kill(sidecar.PID, 0) == nil {
		t.Error("it lives on")
	}
	if log.ObservedBytes() == 0 {
		t.Error("its log went nowhere")
	}
}
