import { GpuCluster } from "@pulumi/gpucluster";

// The keys of a stack file, without `gpucluster:` (../../docs/configuration.md).
const cluster = new GpuCluster("cluster", {
    cloud: "eks",
    region: "us-west-2",
    zones: ["us-west-2a", "us-west-2b"],
    network: {
        // Put your own address here: `curl -4 ifconfig.me`, with /32 behind it.
        authorizedNetworks: [{ name: "me", cidr: "203.0.113.17/32" }],
    },
    gpuPools: [
        { name: "t4", gpu: "nvidia-t4", gpusPerNode: [1, 4], capacity: ["spot", "on-demand"], maxNodes: 4 },
    ],
    budget: { maxHourlyUsd: 50 },
});

export const { clusterName, kubeconfig, cost } = cluster;
