"""Answers to words that a stack file on AKS does not have: what this cloud has for them."""

from __future__ import annotations

from typing import Final

from components.settings.fields.answers import Answer

ANSWERS: Final[tuple[Answer, ...]] = (
    Answer(
        "privatednszoneid dnszone fqdnsubdomain",
        "Write network: {existing: {network: …, subnets: […], privateDnsZone: …}}",
    ),
    Answer(
        "mi300 mi300x amdmi300 amdmi300x instinct amdinstinctmi300x",
        "Write amd-mi300x (docs/accelerators.md)",
        of=("gpu",),
    ),
    Answer(
        "identity controlplaneidentity clusteridentity assignidentity userassignedidentity",
        "Write security: {controlPlaneIdentity: …}, and nodeIdentity there for the nodes",
    ),
    Answer("identityprofile kubeletidentity assignkubeletidentity nodeidentity", "Write security: {nodeIdentity: …}"),
    Answer(
        "sku oidcissuerprofile",
        "Leave it out: it follows from kubernetes.channel and workload identity",
        "the choice is",
    ),
    Answer(
        "privateendpoint publicnetworkaccess networkacls",
        "Leave it out. For data without a public endpoint, bring your own: workloads.pullFrom and identities "
        "(docs/networking.md)",
        "a private endpoint of the program's registry and bucket is",
    ),
    Answer("karpenter nap", "Write node-auto-provisioning, which is Karpenter", of=("autoscaler",)),
    Answer(
        "nap nodeautoprovisioning karpenter autoprovisioning", "Write autoscaling: {autoscaler: node-auto-provisioning}"
    ),
    Answer("blobcsi blobcsidriver", "Write raw: {storageProfile: {blobCSIDriver: {enabled: true}}}"),
    Answer("proxy httpproxy httpproxyconfig", "Write raw: {httpProxyConfig: {httpProxy: 'http://proxy:3128'}}"),
    Answer("servicemesh mesh istio", "Write raw: {serviceMeshProfile: {mode: Istio}}"),
    Answer("ingress ingresscontroller approuting", "Write raw: {ingressProfile: {webAppRouting: {enabled: true}}}"),
    Answer(
        "kubelet kubeletconfig cpumanagerpolicy",
        "Write raw: {kubeletConfig: {cpuManagerPolicy: static}}",
        autoscaler="managed",
    ),
    Answer(
        "sysctls sysctl hugepages",
        "Write raw: {linuxOSConfig: {sysctls: {netCoreSomaxconn: 4096}}}",
        autoscaler="managed",
    ),
)
