"""Answers to words that a stack file on GKE does not have: what this cloud has for them."""

from __future__ import annotations

from typing import Final

from components.settings.fields.answers import Answer

ANSWERS: Final[tuple[Answer, ...]] = (
    Answer("placementgroup placementpolicy compactplacement ppg", "Write placement: compact"),
    Answer("serviceaccount nodeserviceaccount nodeidentity serviceaccountemail", "Write security: {nodeIdentity: …}"),
    Answer("enablemps mpsclients", "Write mps: {clientsPerGpu: 2}"),
    Answer("gcfs gcfsconfig faststart lazyloading", "Write imageStreaming: true"),
    Answer(
        "efa infiniband rdma gpudirect tcpx tcpxo nccl multinetworking",
        "Write fabric: rdma, on machines of H200 or B200",
    ),
    Answer("tpu tpus tpupools tputype", "Leave it out; in gpuPools, gpu: google-tpu-v6e and google-tpu7x are TPUs"),
    Answer(
        "tpu tpuv4 tpuv5 tpuv5e tpuv5p tpuv6e tpuv7 v4 v5e v5p v6e cloudtpu",
        "Write google-tpu-v6e or google-tpu7x (docs/accelerators.md)",
        of=("gpu",),
    ),
    Answer("gateway gatewayapi inferencegateway", "Write raw: {gatewayApiConfig: {channel: CHANNEL_STANDARD}}"),
    Answer("fleet fleetproject", "Write raw: {fleet: {project: my-project}}"),
    Answer(
        "binaryauthorization binauthz",
        "Write raw: {binaryAuthorization: {evaluationMode: PROJECT_SINGLETON_POLICY_ENFORCE}}",
    ),
    Answer("confidentialnodes confidential confidentialcomputing", "Write raw: {confidentialNodes: {enabled: true}}"),
    Answer("gcsfuse gcsfusecsidriver", "Write raw: {addonsConfig: {gcsFuseCsiDriverConfig: {enabled: true}}}"),
    Answer(
        "localssd localssds nvme ephemeralstorage localnvmessdblockconfig",
        "Write raw: {nodeConfig: {ephemeralStorageLocalSsdConfig: {localSsdCount: 1}}}",
    ),
    Answer(
        "kubelet kubeletconfig cpumanagerpolicy",
        "Write raw: {nodeConfig: {kubeletConfig: {cpuManagerPolicy: static}}}",
    ),
    Answer(
        "sysctls sysctl hugepages",
        "Write raw: {nodeConfig: {linuxNodeConfig: {sysctls: {net.core.somaxconn: '4096'}}}}",
    ),
    Answer("sandbox gvisor", "Write raw: {nodeConfig: {sandboxConfig: {sandboxType: gvisor}}}"),
    Answer("backup backups backupplan", "Write raw: {addonsConfig: {gkeBackupAgentConfig: {enabled: true}}}"),
)
