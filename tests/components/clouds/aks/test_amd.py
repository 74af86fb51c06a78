"""AMD's GPUs on AKS: an agent pool for which AKS installs nothing, and the pod that does. What follows from the name of
any maker: ``tests/components/test_other_makers.py``."""

from __future__ import annotations

import yaml

from tests import recorder
from tests.stacks import ROOT, run_with

CONFIG = yaml.safe_load((ROOT / "examples" / "aks-amd.yaml").read_text())["config"]
TAGS = {
    "k8s.io_cluster-autoscaler_node-template_resources_amd.com_gpu": "8",
    "k8s.io_cluster-autoscaler_node-template_resources_nvidia.com_gpu": "0",
}


def declared(autoscaler: str = "managed") -> recorder.Recording:
    return run_with({**CONFIG, "gpucluster:autoscaling": {"autoscaler": autoscaler}}, "aks-amd")


def test_an_agent_pool_has_no_driver_of_azure_s_and_tells_the_autoscaler_of_the_gpus() -> None:
    pools = [one.inputs for one in declared().of_type("azure-native:containerservice:AgentPool")]
    amd = [pool for pool in pools if pool.get("vmSize") == "Standard_ND96isr_MI300X_v5"]
    assert len(amd) == 2
    for pool in amd:
        assert pool["gpuProfile"] == {"driver": "None"}
        assert pool["osSKU"] == "Ubuntu2404"
        assert pool["securityProfile"]["enableSecureBoot"] is False
        assert "amd.com/gpu=present:NoSchedule" in pool["nodeTaints"]
        assert not [label for label in pool["nodeLabels"] if label.startswith("nvidia")]
        assert pool["tags"].items() >= TAGS.items()
    assert not [pool for pool in pools if pool not in amd and TAGS.keys() & pool.get("tags", {}).keys()]


def test_node_auto_provisioning_installs_no_driver_and_has_the_limit_in_gpus() -> None:
    recording = declared("node-auto-provisioning")
    spec = recording.named("mi300x-8-spot-pool-class").inputs["spec"]
    assert (spec["gpu"], spec["imageFamily"]) == ({"mode": "None"}, "Ubuntu2404")
    assert "gpu" not in recording.named("t4-1-pool-class").inputs["spec"]
    assert recording.named("mi300x-8-spot-pool").inputs["spec"]["limits"] == {"nodes": "2", "amd.com/gpu": "16"}


def test_the_driver_is_installed_before_the_plugin_which_has_no_rights_of_it() -> None:
    pod = declared().named("drivers-amd-device-plugin-whole").inputs["spec"]["template"]["spec"]
    (installer,), (plugin,) = pod["initContainers"], pod["containers"]
    assert (pod["hostPID"], installer["securityContext"]) == (True, {"privileged": True})
    script = installer["command"][-1]
    assert "amdgpu-dkms=" in script
    # Who does not run as root may open the GPUs, too; and a driver counts by the GPUs that it knows, not by its device.
    assert 'KERNEL=="kfd", MODE="0666"' in script
    assert script.rstrip().endswith("usable")
    assert "test -e /dev/kfd" not in script
    assert "-pulse" not in str(plugin)
    assert plugin["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    assert pod["automountServiceAccountToken"] is False
