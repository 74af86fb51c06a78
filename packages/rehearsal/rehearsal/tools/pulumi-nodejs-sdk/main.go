// A language host for TypeScript that generates SDKs (`pulumi package gen-sdk`), with Pulumi's own generator, and runs no
// program. Pulumi's own host is a module that not every Go module proxy has.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pulumi/pulumi/pkg/v3/codegen/nodejs"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
)

const name = "pulumi-language-nodejs"

type host struct {
	pulumirpc.UnimplementedLanguageRuntimeServer
}

func (h *host) GetPluginInfo(context.Context, *emptypb.Empty) (*pulumirpc.PluginInfo, error) {
	return &pulumirpc.PluginInfo{}, nil
}

func (h *host) GeneratePackage(
	_ context.Context, request *pulumirpc.GeneratePackageRequest,
) (*pulumirpc.GeneratePackageResponse, error) {
	loader, err := schema.NewLoaderClient(request.LoaderTarget)
	if err != nil {
		return nil, err
	}
	var spec schema.PackageSpec
	if err := json.Unmarshal([]byte(request.Schema), &spec); err != nil {
		return nil, err
	}
	cached := schema.NewCachedLoader(loader)
	bound, diagnostics, err := schema.BindSpec(spec, cached, schema.ValidationOptions{})
	if err != nil {
		return nil, err
	}
	if diagnostics.HasErrors() {
		return &pulumirpc.GeneratePackageResponse{Diagnostics: plugin.HclDiagnosticsToRPCDiagnostics(diagnostics)}, nil
	}
	files, err := nodejs.GeneratePackage(
		name, bound, request.ExtraFiles, request.LocalDependencies, request.Local, cached)
	if err != nil {
		return nil, err
	}
	for path, content := range files {
		file := filepath.Join(request.Directory, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return nil, err
		}
	}
	return &pulumirpc.GeneratePackageResponse{}, nil
}

func main() {
	server, err := rpcutil.ServeWithOptions(rpcutil.ServeOptions{Init: func(server *grpc.Server) error {
		pulumirpc.RegisterLanguageRuntimeServer(server, &host{})
		return nil
	}})
	if err == nil {
		fmt.Println(server.Port)
		err = <-server.Done
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
