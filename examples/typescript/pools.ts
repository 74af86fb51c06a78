import * as pulumi from "@pulumi/pulumi";
import { GpuPools } from "@pulumi/gpucluster";

// GPU pools on a cluster that another stack made; import this file from index.ts.
const infrastructure = new pulumi.StackReference("company/infrastructure/prod");

export const pools = new GpuPools("gpu", {
    cloud: "eks",
    region: "us-west-2",
    zones: ["us-west-2a", "us-west-2b"],
    existingCluster: {
        name: infrastructure.requireOutput("clusterName").apply(String),
        nodeClass: "default",
    },
    gpuPools: [{ name: "t4", gpu: "nvidia-t4", capacity: ["spot", "on-demand"], maxNodes: 4 }],
});
