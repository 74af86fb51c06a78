package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
)

const (
	loadedFile  = "/run/nvidia/loaded.json"   // what the simulated kernel module knows; gone after a reboot
	libraryFile = "/usr/share/nvidia/version" // of the installed packages
)

// Character device 1:5 stands for every GPU: it can be opened, and no driver is behind NVIDIA's own major number 195.
const major, minor = 1, 5

type gpu struct {
	Index int    `json:"index"`
	UUID  string `json:"uuid"`
	Name  string `json:"name"`
	Bus   string `json:"bus"`
}

func (g gpu) device() string { return fmt.Sprintf("/dev/nvidia%d", g.Index) }

type driver struct {
	Version string `json:"version"`
	GPUs    []gpu  `json:"gpus"`
}

// Device ids of the PCI ID repository, https://pci-ids.ucw.cz/read/PC/10de, with the names that nvidia-smi prints.
var names = map[string]string{
	"0x1eb8": "Tesla T4", "0x27b8": "NVIDIA L4", "0x26b9": "NVIDIA L40S", "0x2237": "NVIDIA A10G",
	"0x1db1": "Tesla V100-SXM2-16GB", "0x20b0": "NVIDIA A100-SXM4-40GB", "0x20b2": "NVIDIA A100-SXM4-80GB",
	"0x2330": "NVIDIA H100 80GB HBM3", "0x2335": "NVIDIA H200", "0x2901": "NVIDIA B200",
}

// pciGPUs lists the PCI devices of NVIDIA that are display or 3D controllers, in the order of their addresses.
func pciGPUs() []gpu {
	folders, _ := filepath.Glob("/sys/bus/pci/devices/*")
	sort.Strings(folders)
	machine := text("/etc/machine-id")
	var gpus []gpu
	for _, folder := range folders {
		if text(folder+"/vendor") != "0x10de" || !strings.HasPrefix(text(folder+"/class"), "0x03") {
			continue
		}
		bus, id := filepath.Base(folder), text(folder+"/device")
		digest := sha256.Sum256([]byte(machine + bus))
		name := names[id]
		if name == "" {
			name = "NVIDIA Graphics Device"
		}
		uuid := fmt.Sprintf("GPU-%x-%x-%x-%x-%x", digest[:4], digest[4:6], digest[6:8], digest[8:10], digest[10:16])
		gpus = append(gpus, gpu{len(gpus), uuid, name, bus})
	}
	return gpus
}

func text(path string) string {
	content, _ := os.ReadFile(path)
	return strings.TrimSpace(string(content))
}

// loadDriver plays the kernel module and nvidia-modprobe: it makes the device nodes. A loaded module stays as it is
// until the next boot, whatever packages say.
func loadDriver([]string) error {
	if _, err := os.Stat("/sys/module/nouveau"); err == nil {
		return fmt.Errorf("the module nouveau is loaded and has the GPUs")
	}
	loaded, err := loadedDriver()
	if err != nil {
		version := text(libraryFile)
		if version == "" {
			return fmt.Errorf("%s is missing: no driver is installed", libraryFile)
		}
		loaded = driver{version, pciGPUs()}
		if len(loaded.GPUs) == 0 {
			return fmt.Errorf("no NVIDIA GPU in /sys/bus/pci/devices")
		}
	}
	nodes := []string{"/dev/nvidiactl", "/dev/nvidia-uvm"}
	for _, each := range loaded.GPUs {
		nodes = append(nodes, each.device())
	}
	for _, node := range nodes {
		err := syscall.Mknod(node, syscall.S_IFCHR|0o666, major<<8|minor)
		if err != nil && err != syscall.EEXIST {
			return fmt.Errorf("%s: %v", node, err)
		}
		if err := os.Chmod(node, 0o666); err != nil {
			return err
		}
	}
	content, _ := json.Marshal(loaded)
	if err := os.MkdirAll(filepath.Dir(loadedFile), 0o755); err != nil {
		return err
	}
	return os.WriteFile(loadedFile, content, 0o644)
}

// loadedDriver is what the module serves here: in a container only the GPUs whose device nodes it has.
func loadedDriver() (driver, error) {
	var loaded driver
	content, err := os.ReadFile(loadedFile)
	if err != nil {
		return loaded, err
	}
	if err := json.Unmarshal(content, &loaded); err != nil {
		return loaded, fmt.Errorf("%s: %v", loadedFile, err)
	}
	return loaded, nil
}

func visibleGPUs(loaded driver) []gpu {
	var visible []gpu
	for _, each := range loaded.GPUs {
		if _, err := os.Stat(each.device()); err == nil {
			visible = append(visible, each)
		}
	}
	return visible
}

// nvidiaSMI answers -L and --query-gpu=… --format=csv[,noheader][,nounits]; its exit codes are those of the real one.
func nvidiaSMI(arguments []string) error {
	loaded, err := loadedDriver()
	if err != nil {
		return failure{9, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. " +
			"Make sure that the latest NVIDIA driver is installed and running."}
	}
	// In a container the runtime mounts the host's library, so its version is the module's or nothing works there.
	if library := text(libraryFile); library != "" && library != loaded.Version {
		return failure{18, "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: " + library}
	}
	gpus := visibleGPUs(loaded)
	if len(gpus) == 0 {
		return failure{6, "No devices were found"}
	}
	var query []string
	format := ""
	for _, argument := range arguments {
		key, value, _ := strings.Cut(argument, "=")
		switch key {
		case "-L", "--list-gpus":
			for _, each := range gpus {
				fmt.Printf("GPU %d: %s (UUID: %s)\n", each.Index, each.Name, each.UUID)
			}
			return nil
		case "--query-gpu":
			query = strings.Split(value, ",")
		case "--format":
			format = value
		default:
			return failure{2, "Invalid combination of input arguments: the simulated nvidia-smi has no " + argument}
		}
	}
	if query == nil {
		fmt.Printf("NVIDIA-SMI %s  Driver Version: %s (simulated)\n", loaded.Version, loaded.Version)
		query, format = []string{"index", "name", "uuid", "pci.bus_id"}, "csv"
	}
	if !strings.HasPrefix(format, "csv") {
		return failure{2, "--query-gpu needs --format=csv"}
	}
	if !strings.Contains(format, "noheader") {
		fmt.Println(strings.Join(query, ", "))
	}
	for _, each := range gpus {
		known := map[string]string{
			"index": strconv.Itoa(each.Index), "name": each.Name, "gpu_name": each.Name, "uuid": each.UUID,
			"gpu_uuid": each.UUID, "driver_version": loaded.Version, "count": strconv.Itoa(len(gpus)),
			"pci.bus_id": each.Bus, "gpu_bus_id": each.Bus, "mig.mode.current": "[N/A]", "persistence_mode": "Enabled",
		}
		var fields []string
		for _, field := range query {
			value, ok := known[strings.TrimSpace(field)]
			if !ok {
				return failure{2, fmt.Sprintf("Field %q is not a valid field to query.", field)}
			}
			fields = append(fields, value)
		}
		fmt.Println(strings.Join(fields, ", "))
	}
	return nil
}
