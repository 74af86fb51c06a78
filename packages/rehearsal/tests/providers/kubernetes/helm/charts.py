"""A small chart for the tests: a ConfigMap, a Deployment if asked for, and a definition in its ``crds`` folder."""

from __future__ import annotations

from pathlib import Path

_FILES = {
    "Chart.yaml": "apiVersion: v2\nname: {name}\nversion: {version}\nappVersion: 0.9.0\n",
    "values.yaml": "colour: red\nreplicas: 0\nnodeSelector: {{}}\n",
    "templates/objects.yaml": """\
apiVersion: v1
kind: ConfigMap
metadata: {{name: "{{{{ .Release.Name }}}}-{{{{ .Values.colour }}}}"}}
data: {{size: {{{{ .Values.size | default "small" | quote }}}}}}
{{{{ if .Values.replicas }}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: "{{{{ .Release.Name }}}}", namespace: "{{{{ .Release.Namespace }}}}"}}
spec:
  replicas: {{{{ .Values.replicas }}}}
  strategy: {{rollingUpdate: {{maxUnavailable: 0}}}}
  selector: {{matchLabels: {{app: "{{{{ .Release.Name }}}}"}}}}
  template:
    metadata: {{labels: {{app: "{{{{ .Release.Name }}}}"}}}}
    spec:
      nodeSelector: {{{{ .Values.nodeSelector | toJson }}}}
      containers: [{{name: main, image: busybox}}]
{{{{ end }}}}
""",
    "crds/colours.yaml": """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: colours.example.org}}
spec:
  group: example.org
  scope: Namespaced
  names: {{kind: Colour, plural: colours}}
  versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object}}}}}}]
""",
}


def write_chart(folder: Path, name: str = "web", version: str = "1.2.3") -> Path:
    """The chart's folder."""
    for file, content in _FILES.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content.format(name=name, version=version))
    return folder
