package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"sigs.k8s.io/yaml"
)

// The part of NVIDIA's configuration file that has an effect without a driver.
// https://github.com/NVIDIA/k8s-device-plugin#configuration-option-details
type pluginConfig struct {
	Version string `json:"version"`
	Flags   struct {
		MigStrategy     string `json:"migStrategy"`
		FailOnInitError *bool  `json:"failOnInitError"`
		Plugin          struct {
			PassDeviceSpecs    bool `json:"passDeviceSpecs"`
			DeviceListStrategy any  `json:"deviceListStrategy"`
			DeviceIDStrategy   any  `json:"deviceIDStrategy"`
		} `json:"plugin"`
	} `json:"flags"`
	Sharing struct {
		TimeSlicing struct {
			RenameByDefault            bool `json:"renameByDefault"`
			FailRequestsGreaterThanOne bool `json:"failRequestsGreaterThanOne"`
			Resources                  []struct {
				Name     string `json:"name"`
				Rename   string `json:"rename"`
				Replicas int    `json:"replicas"`
			} `json:"resources"`
		} `json:"timeSlicing"`
	} `json:"sharing"`
}

const gpuResource = "nvidia.com/gpu"

type plugin struct {
	api.UnimplementedDevicePluginServer
	resource   string
	devices    []*api.Device
	paths      map[string]string // of each GPU by its UUID
	oneShare   bool
	passDevice bool
	byMounts   bool
}

// devicePlugin plays NVIDIA's: over the kubelet's real socket, for the GPUs that the container runtime gave it.
func devicePlugin(arguments []string) error {
	flags := flag.NewFlagSet("nvidia-device-plugin", flag.ContinueOnError)
	file := flags.String("config-file", os.Getenv("CONFIG_FILE"), "")
	mig := flags.String("mig-strategy", os.Getenv("MIG_STRATEGY"), "")
	fail := flags.Bool("fail-on-init-error", os.Getenv("FAIL_ON_INIT_ERROR") != "false", "")
	pass := flags.Bool("pass-device-specs", os.Getenv("PASS_DEVICE_SPECS") == "true", "")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	var config pluginConfig
	if *file != "" {
		content, err := os.ReadFile(*file)
		if err != nil {
			return err
		}
		if err := yaml.UnmarshalStrict(content, &config); err != nil {
			return fmt.Errorf("%s: %v", *file, err)
		}
		if config.Version != "v1" {
			return fmt.Errorf("%s: unknown version: %q", *file, config.Version)
		}
	}
	if config.Flags.FailOnInitError != nil {
		*fail = *config.Flags.FailOnInitError
	}
	if config.Flags.MigStrategy == "mixed" || *mig == "mixed" {
		return fmt.Errorf("the simulated GPUs have no MIG devices: migStrategy mixed")
	}
	loaded, err := loadedDriver()
	gpus := visibleGPUs(loaded)
	if err != nil || len(gpus) == 0 {
		log.Printf("Failed to initialize NVML: no driver or no GPU in this container (%v). If this is a GPU node, did you "+
			"configure the NVIDIA Container Toolkit, and is its runtime the default?", err)
		if *fail {
			return fmt.Errorf("failed to initialize NVML")
		}
		log.Print("No devices found. Waiting indefinitely.")
		select {}
	}
	served := &plugin{resource: gpuResource, paths: map[string]string{}, passDevice: *pass || config.Flags.Plugin.PassDeviceSpecs}
	switch strategy := config.Flags.Plugin.DeviceListStrategy; strategy {
	case nil, "envvar":
	case "volume-mounts":
		served.byMounts = true
	default:
		return fmt.Errorf("deviceListStrategy: the simulated plugin has envvar and volume-mounts, not %v", strategy)
	}
	replicas := 1
	for _, shared := range config.Sharing.TimeSlicing.Resources {
		if shared.Name != gpuResource || shared.Replicas < 2 {
			return fmt.Errorf("sharing: resource %q with %d replicas: only %s, with at least 2", shared.Name, shared.Replicas, gpuResource)
		}
		replicas = shared.Replicas
		served.oneShare = config.Sharing.TimeSlicing.FailRequestsGreaterThanOne
		if shared.Rename != "" {
			served.resource = shared.Rename
		} else if config.Sharing.TimeSlicing.RenameByDefault {
			served.resource = gpuResource + ".shared"
		}
	}
	for _, each := range gpus {
		served.paths[each.UUID] = each.device()
		for replica := range replicas {
			id := each.UUID
			if replicas > 1 {
				id = fmt.Sprintf("%s::%d", each.UUID, replica)
			}
			served.devices = append(served.devices, &api.Device{ID: id, Health: api.Healthy})
		}
	}
	return served.serve()
}

// serve registers, and again whenever the kubelet has started anew: it then deletes all plugins' sockets.
func (p *plugin) serve() error {
	socket := filepath.Join(api.DevicePluginPath, "nvidia-gpu.sock")
	for {
		os.Remove(socket)
		listener, err := net.Listen("unix", socket)
		if err != nil {
			return err
		}
		server := grpc.NewServer()
		api.RegisterDevicePluginServer(server, p)
		go server.Serve(listener)
		if err := p.register(filepath.Base(socket)); err != nil {
			return err
		}
		log.Printf("Registered device plugin for %s with Kubelet: %d devices", p.resource, len(p.devices))
		for exists(socket) {
			time.Sleep(time.Second)
		}
		log.Print("the kubelet removed the socket, so it was restarted")
		server.Stop()
		for !exists(api.KubeletSocket) {
			time.Sleep(time.Second)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (p *plugin) register(endpoint string) error {
	kubelet, err := grpc.NewClient("unix://"+api.KubeletSocket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer kubelet.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, err = api.NewRegistrationClient(kubelet).Register(ctx, &api.RegisterRequest{
		Version: api.Version, Endpoint: endpoint, ResourceName: p.resource, Options: &api.DevicePluginOptions{},
	})
	return err
}

func (p *plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{}, nil
}

func (p *plugin) ListAndWatch(_ *api.Empty, stream api.DevicePlugin_ListAndWatchServer) error {
	if err := stream.Send(&api.ListAndWatchResponse{Devices: p.devices}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

func (p *plugin) Allocate(_ context.Context, request *api.AllocateRequest) (*api.AllocateResponse, error) {
	response := &api.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		if p.oneShare && len(container.DevicesIds) > 1 {
			return nil, fmt.Errorf("request for '%s: %d' too large: maximum request size for shared resources is 1", p.resource, len(container.DevicesIds))
		}
		var ids []string
		for _, id := range container.DevicesIds {
			uuid, _, _ := strings.Cut(id, "::")
			if p.paths[uuid] == "" {
				return nil, fmt.Errorf("invalid allocation request for %q: unknown device: %s", p.resource, id)
			}
			ids = append(ids, uuid)
		}
		slices.Sort(ids)
		ids = slices.Compact(ids)
		// The container runtime turns this variable, or these mounts, into device nodes.
		visible, mounts := strings.Join(ids, ","), []*api.Mount(nil)
		if p.byMounts {
			visible = deviceMounts
			for _, id := range ids {
				mounts = append(mounts, &api.Mount{HostPath: "/dev/null", ContainerPath: filepath.Join(deviceMounts, id)})
			}
		}
		answer := &api.ContainerAllocateResponse{Envs: map[string]string{"NVIDIA_VISIBLE_DEVICES": visible}, Mounts: mounts}
		if p.passDevice {
			for _, id := range ids {
				answer.Devices = append(answer.Devices, &api.DeviceSpec{ContainerPath: p.paths[id], HostPath: p.paths[id], Permissions: "rw"})
			}
		}
		response.ContainerResponses = append(response.ContainerResponses, answer)
	}
	return response, nil
}
