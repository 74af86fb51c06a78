// Lab-image is what runs in the container images of rehearsed machines, and the commands of their simulated NVIDIA
// driver and container toolkit. One static program; its own name or the first argument says which part it plays.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

var programs = map[string]func(arguments []string) error{
	"pause":                    pause,
	"gpu-job":                  gpuJob,
	"nvidia-modprobe":          loadDriver,
	"nvidia-smi":               nvidiaSMI,
	"nvidia-ctk":               nvidiaCTK,
	"nvidia-container-runtime": containerRuntime,
	"nvidia-device-plugin":     devicePlugin,
}

func main() {
	name, arguments := filepath.Base(os.Args[0]), os.Args[1:]
	if programs[name] == nil && len(arguments) > 0 {
		name, arguments = arguments[0], arguments[1:]
	}
	program := programs[name]
	if program == nil {
		program = func([]string) error { return fmt.Errorf("no such program") }
	}
	if err := program(arguments); err != nil {
		if failure, ok := err.(failure); ok {
			fmt.Println(failure.message)
			os.Exit(failure.code)
		}
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// A failure ends the program with its own exit code; nvidia-smi prints its message on standard output.
type failure struct {
	code    int
	message string
}

func (f failure) Error() string { return f.message }

// pause holds a pod's namespaces and reaps the zombies of a pod whose containers share one PID namespace; kubeadm runs
// it with -v in the job by which it looks at a cluster before an upgrade.
func pause(arguments []string) error {
	if len(arguments) > 0 && arguments[0] == "-v" {
		fmt.Println("pause (simulated)")
		return nil
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for received := range signals {
		if received != syscall.SIGCHLD {
			return nil
		}
		for {
			if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
				break
			}
		}
	}
	return nil
}

// gpuJob prints as one line of JSON which GPUs this container can open; without any it fails.
func gpuJob([]string) error {
	host, _ := os.Hostname()
	opened, refused := []string{}, map[string]string{}
	for index := range 16 {
		path := fmt.Sprintf("/dev/nvidia%d", index)
		if device, err := os.OpenFile(path, os.O_RDWR, 0); err == nil {
			device.Close()
			opened = append(opened, path)
		} else if !os.IsNotExist(err) {
			refused[path] = err.Error()
		}
	}
	line, _ := json.Marshal(map[string]any{
		"host": host, "visible": os.Getenv("NVIDIA_VISIBLE_DEVICES"), "opened": opened, "refused": refused,
	})
	fmt.Println(string(line))
	if len(opened) == 0 {
		return fmt.Errorf("no GPU can be opened")
	}
	return nil
}
