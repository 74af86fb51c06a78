package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/pelletier/go-toml/v2"
	"sigs.k8s.io/yaml"
)

type object = map[string]any

const (
	toolkitFile  = "/etc/nvidia-container-runtime/config.toml"
	acceptEnv    = "accept-nvidia-visible-devices-envvar-when-unprivileged"
	acceptMounts = "accept-nvidia-visible-devices-as-volume-mounts"
	deviceMounts = "/var/run/nvidia-container-devices"
)

// nvidiaCTK plays `nvidia-ctk config`, `runtime configure` and `cdi generate`; other commands and options fail.
func nvidiaCTK(arguments []string) error {
	if len(arguments) > 0 && arguments[0] == "config" {
		return toolkitConfig(arguments[1:])
	}
	command, options := strings.Join(arguments[:min(2, len(arguments))], " "), map[string]string{}
	allowed := map[string][]string{
		"runtime configure": {
			"runtime", "config", "drop-in-config", "nvidia-set-as-default", "set-as-default", "cdi.enabled", "cdi.enable",
			"enable-cdi", "nvidia-runtime-name", "config-source",
		},
		"cdi generate": {"output", "format", "mode", "device-name-strategy"},
	}[command]
	if command == "--version" || allowed == nil {
		if command == "--version" {
			fmt.Println("NVIDIA Container Toolkit CLI (simulated)")
			return nil
		}
		return fmt.Errorf("the simulated command has `config`, `runtime configure` and `cdi generate`, not `%s`", command)
	}
	rest := arguments[2:]
	for len(rest) > 0 {
		key, value, given := strings.Cut(strings.TrimLeft(rest[0], "-"), "=")
		if !strings.HasPrefix(rest[0], "-") || !slices.Contains(allowed, key) {
			return fmt.Errorf("%s: unknown argument %s", command, rest[0])
		}
		rest = rest[1:]
		switch flag := strings.Contains(key, "default") || strings.Contains(key, "cdi"); {
		case given:
		case flag:
			value = "true"
		case len(rest) > 0:
			value, rest = rest[0], rest[1:]
		default:
			return fmt.Errorf("%s: flag needs an argument: %s", command, key)
		}
		options[key] = value
	}
	if command == "cdi generate" {
		return generateCDI(options)
	}
	return configureRuntime(options)
}

// toolkitConfig prints the toolkit's configuration file with each --set=key=value; only two keys have an effect here.
// https://github.com/NVIDIA/nvidia-container-toolkit/blob/v1.18.1/cmd/nvidia-ctk/config/config.go
func toolkitConfig(arguments []string) error {
	path, changes := toolkitFile, object{}
	for _, argument := range arguments {
		key, value, _ := strings.Cut(strings.TrimLeft(argument, "-"), "=")
		name, text, _ := strings.Cut(value, "=")
		flag, err := strconv.ParseBool(text)
		switch {
		case key == "config-file" && value != "":
			path = value
		case key == "set" && err == nil && (name == acceptEnv || name == acceptMounts):
			changes[name] = flag
		default:
			return fmt.Errorf("config: invalid argument %s", argument)
		}
	}
	config, err := toolkitOptions(path)
	if err != nil {
		return err
	}
	for name, flag := range changes {
		config[name] = flag
	}
	content, err := toml.Marshal(config)
	if err == nil {
		_, err = os.Stdout.Write(content)
	}
	return err
}

// toolkitOptions reads the toolkit's configuration; without a file it is the default.
func toolkitOptions(path string) (object, error) {
	config := object{acceptEnv: true, acceptMounts: false}
	content, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return config, toml.Unmarshal(content, &config)
}

// configureRuntime writes what nvidia-ctk 1.18 writes: a drop-in with a runtime that has runc's options, and its import.
// https://github.com/NVIDIA/nvidia-container-toolkit/blob/v1.18.1/cmd/nvidia-ctk/runtime/configure/configure.go
func configureRuntime(options map[string]string) error {
	if options["runtime"] != "containerd" {
		return fmt.Errorf("the simulated command configures containerd only: --runtime=containerd")
	}
	option := func(otherwise string, names ...string) string {
		for _, name := range names {
			if value, given := options[name]; given {
				return value
			}
		}
		return otherwise
	}
	path := option("/etc/containerd/config.toml", "config")
	dropIn := option("/etc/containerd/conf.d/99-nvidia.toml", "drop-in-config")
	name := option("nvidia", "nvidia-runtime-name")
	content, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	if options["config-source"] == "command" {
		if content, err = exec.Command("containerd", "config", "dump").Output(); err != nil {
			return fmt.Errorf("containerd config dump: %v", err)
		}
	}
	config := object{}
	if err := toml.Unmarshal(content, &config); err != nil {
		return fmt.Errorf("%s: %v", path, err)
	}
	if len(config) == 0 {
		config["version"] = int64(2)
	}
	plugin := "io.containerd.grpc.v1.cri"
	if version, _ := config["version"].(int64); version == 3 {
		plugin = "io.containerd.cri.v1.runtime"
	} else if version != 2 {
		return fmt.Errorf("%s: version %v of containerd's configuration; write `version = 2`", path, config["version"])
	}
	target, outputPath := config, path
	if dropIn != "" {
		target, outputPath = object{"version": config["version"]}, dropIn
	}
	runtime, err := copied(at(config, "plugins", plugin, "containerd", "runtimes", "runc"))
	if err != nil {
		return err
	}
	if len(runtime) == 0 {
		runtime["runtime_type"] = "io.containerd.runc.v2"
	}
	at(runtime, "options")["BinaryName"] = "/usr/bin/nvidia-container-runtime"
	at(target, "plugins", plugin, "containerd", "runtimes")[name] = runtime
	if option("", "nvidia-set-as-default", "set-as-default") == "true" {
		at(target, "plugins", plugin, "containerd")["default_runtime_name"] = name
	}
	if option("", "cdi.enabled", "cdi.enable", "enable-cdi") == "true" {
		at(target, "plugins", plugin)["enable_cdi"] = true
	}
	if err := writeTOML(outputPath, target); err != nil || dropIn == "" {
		return err
	}
	// Only now: the lookups above may have added empty tables to the main file's configuration.
	main := object{"version": config["version"]}
	if err := toml.Unmarshal(content, &main); err != nil {
		return err
	}
	imports, _ := main["imports"].([]any)
	pattern := filepath.Dir(dropIn) + "/*.toml"
	if !slices.Contains(imports, any(pattern)) {
		main["imports"] = append(imports, pattern)
		return writeTOML(path, main)
	}
	return nil
}

func at(tree object, keys ...string) object {
	for _, key := range keys {
		next, ok := tree[key].(object)
		if !ok {
			next = object{}
			tree[key] = next
		}
		tree = next
	}
	return tree
}

func copied(tree object) (object, error) {
	content, err := toml.Marshal(tree)
	if err != nil {
		return nil, err
	}
	result := object{}
	return result, toml.Unmarshal(content, &result)
}

func writeTOML(path string, tree object) error {
	content, err := toml.Marshal(tree)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "Wrote updated config to %s\n", path)
	return os.WriteFile(path, content, 0o644)
}

// generateCDI writes a specification of the Container Device Interface with a device per GPU, and `all`.
// https://github.com/cncf-tags/container-device-interface/blob/v1.0.1/SPEC.md
func generateCDI(options map[string]string) error {
	loaded, err := loadedDriver()
	if err != nil {
		return fmt.Errorf("failed to initialize NVML: the driver is not loaded: %v", err)
	}
	var devices, all []any
	for _, each := range loaded.GPUs {
		node := object{"path": each.device()}
		all = append(all, node)
		for _, name := range []string{strconv.Itoa(each.Index), each.UUID} {
			devices = append(devices, object{"name": name, "containerEdits": object{"deviceNodes": []any{node}}})
		}
	}
	devices = append(devices, object{"name": "all", "containerEdits": object{"deviceNodes": all}})
	content, err := yaml.Marshal(object{
		"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": devices,
		"containerEdits": object{
			"env":         []any{"NVIDIA_VISIBLE_DEVICES=void"},
			"deviceNodes": []any{object{"path": "/dev/nvidiactl"}, object{"path": "/dev/nvidia-uvm"}},
			"mounts":      mounts(),
		},
	})
	if err != nil {
		return err
	}
	if options["output"] == "" {
		_, err = os.Stdout.Write(content)
		return err
	}
	if err := os.MkdirAll(filepath.Dir(options["output"]), 0o755); err != nil {
		return err
	}
	return os.WriteFile(options["output"], content, 0o644)
}

// visibleDevices is what the mounts of a container ask for, else its environment, as the options permit.
// https://github.com/NVIDIA/nvidia-container-toolkit/blob/v1.18.1/internal/config/image/cuda_image.go
func visibleDevices(spec, options object) string {
	var ids []string
	given, _ := spec["mounts"].([]any)
	for _, each := range given {
		mount, _ := each.(object)
		id, inside := strings.CutPrefix(fmt.Sprint(mount["destination"]), deviceMounts+"/")
		if inside && mount["source"] == "/dev/null" && options[acceptMounts] == true {
			ids = append(ids, id)
		}
	}
	if len(ids) > 0 {
		return strings.Join(ids, ",")
	}
	process := at(spec, "process")
	capabilities, _ := process["capabilities"].(object)
	bounding, _ := capabilities["bounding"].([]any)
	if options[acceptEnv] != true && !slices.Contains(bounding, any("CAP_SYS_ADMIN")) {
		return ""
	}
	visible := ""
	environment, _ := process["env"].([]any)
	for _, each := range environment {
		if value, named := strings.CutPrefix(fmt.Sprint(each), "NVIDIA_VISIBLE_DEVICES="); named {
			visible = value
		}
	}
	return visible
}

func mounts() []any {
	var result []any
	for _, path := range []string{"/usr/bin/nvidia-smi", loadedFile} {
		result = append(result, object{"hostPath": path, "containerPath": path, "options": []any{"ro", "nosuid", "nodev", "bind"}})
	}
	return result
}

// containerRuntime adds the GPUs that a container asks for while it is being created, then becomes runc.
func containerRuntime(arguments []string) error {
	if slices.Contains(arguments, "create") {
		bundle := "."
		for index, argument := range arguments {
			if value, given := strings.CutPrefix(argument, "--bundle="); given {
				bundle = value
			} else if (argument == "--bundle" || argument == "-b") && index+1 < len(arguments) {
				bundle = arguments[index+1]
			}
		}
		if err := addGPUs(filepath.Join(bundle, "config.json")); err != nil {
			return err
		}
	}
	runc, err := exec.LookPath("runc")
	if err != nil {
		return err
	}
	return syscall.Exec(runc, append([]string{"runc"}, arguments...), os.Environ())
}

func addGPUs(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	spec := object{}
	decoder := json.NewDecoder(strings.NewReader(string(content)))
	decoder.UseNumber() // a limit of int64 would lose digits as a float
	if err := decoder.Decode(&spec); err != nil {
		return fmt.Errorf("%s: %v", path, err)
	}
	options, err := toolkitOptions(toolkitFile)
	if err != nil {
		return err
	}
	visible := visibleDevices(spec, options)
	if visible == "" || visible == "void" || visible == "none" {
		return nil
	}
	loaded, err := loadedDriver()
	if err != nil {
		return fmt.Errorf("initialization error: nvml error: driver not loaded")
	}
	paths := []string{"/dev/nvidiactl", "/dev/nvidia-uvm"}
	for _, id := range strings.Split(visible, ",") {
		before := len(paths)
		for _, each := range loaded.GPUs {
			if id == "all" || id == each.UUID || id == strconv.Itoa(each.Index) {
				paths = append(paths, each.device())
			}
		}
		if len(paths) == before {
			return fmt.Errorf("device error: %s: unknown device", id)
		}
	}
	linux := at(spec, "linux")
	resources := at(linux, "resources")
	devices, _ := linux["devices"].([]any)
	rules, _ := resources["devices"].([]any)
	for _, device := range slices.Compact(slices.Sorted(slices.Values(paths))) {
		devices = append(devices, object{"path": device, "type": "c", "major": major, "minor": minor, "fileMode": 0o666, "uid": 0, "gid": 0})
	}
	linux["devices"] = devices
	resources["devices"] = append(rules, object{"allow": true, "type": "c", "major": major, "minor": minor, "access": "rwm"})
	existing, _ := spec["mounts"].([]any)
	for _, each := range mounts() {
		mount := each.(object)
		existing = append(existing, object{
			"destination": mount["containerPath"], "source": mount["hostPath"], "type": "bind", "options": mount["options"],
		})
	}
	spec["mounts"] = existing
	if content, err = json.Marshal(spec); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}
