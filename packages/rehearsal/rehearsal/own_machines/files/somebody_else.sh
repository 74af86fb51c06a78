#!/bin/sh
# Somebody else's way to make this machine ready for kubeadm, by hand as in Kubernetes' documentation; with GPUs also
# NVIDIA's driver and container toolkit: https://kubernetes.io/docs/setup/production-environment/tools/kubeadm/
set -eu
repository=$1 gpus=$2
export DEBIAN_FRONTEND=noninteractive

keyring=$(sed -n 's/^Signed-By: //p' /etc/apt/sources.list.d/lab.sources)
for part in kubernetes nvidia toolkit; do
  echo "deb [signed-by=$keyring] $repository/$part/ ./"
done >/etc/apt/sources.list.d/theirs.list
apt-get update -q
apt-get install -q -y ca-certificates conntrack containerd ethtool iptables openssl socat kubelet kubeadm kubectl

printf 'net.ipv4.ip_forward = 1\nnet.bridge.bridge-nf-call-iptables = 1\n' >/etc/sysctl.d/90-theirs.conf
modprobe br_netfilter || true
sysctl -q -p /etc/sysctl.d/90-theirs.conf

runtime=runc binary=
if [ "$gpus" != 0 ]; then
  apt-get install -q -y "linux-headers-$(uname -r)" nvidia-open nvidia-container-toolkit
  nvidia-modprobe
  systemctl start nvidia-persistenced
  nvidia-smi -L
  runtime=nvidia binary='BinaryName = "/usr/bin/nvidia-container-runtime"'
fi
cat >/etc/containerd/config.toml <<EOF
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$(kubeadm config images list --kubernetes-version "$(kubeadm version -o short)" | grep /pause:)"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/opt/cni/bin"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    default_runtime_name = "$runtime"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.$runtime]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.$runtime.options]
        SystemdCgroup = true
        $binary
EOF
systemctl enable containerd kubelet
systemctl restart containerd
