"""What a Job's command comes to: a server that somebody has to end, or work that ends by itself."""

from __future__ import annotations

import pytest

from policies.readers.kubernetes.parts import never_ends, serves


def _pod(*command: str, **more: object) -> dict[str, object]:
    return {"containers": [{"name": "main", "command": list(command)}], **more}


def _shell(line: str) -> dict[str, object]:
    return _pod("bash", "-c", line)


@pytest.mark.parametrize(
    "line",
    [
        "vllm serve m",
        "vllm serve m > /logs/out 2>&1",
        "python3 -m vllm.entrypoints.openai.api_server --model m",
        "python -m sglang.launch_server --model-path m",
        "text-generation-launcher --model-id m",
        "tritonserver --model-repository=/m",
        "ollama serve",
        "pip install -r r.txt && streamlit run app.py --server.port 8501",
        "uvicorn app:app --host 0.0.0.0",
        "gunicorn app:app",
        "mlflow models serve -m m",
        "python -m http.server",
        "jupyter lab || true",
        "nohup jupyter lab > log 2>&1 & wait",
        "vllm serve m & wait $!",
        "python -m notebook",
        "python -m jupyterlab",
        "conda run -n ml jupyter lab",
        "uv run --with jupyter jupyter lab",
        "start-singleuser.py",
        "jupyterhub-singleuser --ip=0.0.0.0",
        "marimo edit --host 0.0.0.0",
        "ttyd bash",
        "openvscode-server --host 0.0.0.0",
        "code tunnel",
        "tensorboard --logdir /runs",
        "/usr/sbin/sshd -De",
        "ray start --head --block",
        "ray start --block --head --port 6379",
        "celery -A app worker --loglevel=info",
        "celery --app=app worker",
        "rq worker gpu",
        "rq worker-pool gpu -n 2",
        "rqworker gpu",
        "dramatiq app.tasks --processes 1",
        "arq app.worker.Settings",
        "taskiq worker app.tasks:broker",
        "faststream run app:app",
        "huey_consumer.py app.huey",
        "prefect worker start --pool gpu",
        "prefect agent start -q gpu",
        "lmdeploy serve api_server m",
        "torchserve --start --foreground --model-store /m",
        "python -m ipykernel_launcher -f /c.json",
    ],
)
def test_a_server_is_left_to_a_person(line: str) -> None:
    assert serves(_shell(line))
    assert not serves({**_shell(line), "activeDeadlineSeconds": 3600})


@pytest.mark.parametrize(
    "line",
    [
        "jupyter nbconvert --execute lab.ipynb",
        "rq worker --burst gpu",
        "rq worker -bv gpu",
        "rq worker --max-idle-time 60 gpu",
        "rq worker --max-jobs 1 gpu",
        "rq worker-pool gpu --burst",
        "arq --burst app.worker.Settings",
        "arq app.worker.Settings --burst",
        "dramatiq --help",
        "python dramatiq_report.py",
        "prefect worker start --pool gpu --run-once",
        "ray start --head && python train.py",
        "ray start --address=head:6379 --block",
        "while ! nc -z head 6379; do sleep 2; done; ray start --address head:6379 --block",
        "celery -A app inspect ping",
        "celery -A app inspect active --destination worker",
        "jupyter notebook list",
        "jupyter lab build",
        "jupyter lab --version",
        "jupyter labextension list",
        "code-server --install-extension x",
        "python notebook.py",
        "python gradio_demo.py",
        "python tensorboard/plot.py",
        "(vllm serve m &) ; until curl -s localhost:8000/health; do sleep 1; done; python bench.py",
        "vllm serve m 2>&1 & until curl -sf localhost:8000/health; do sleep 2; done; vllm bench serve --model m",
        "vllm run-batch -i in.jsonl -o out.jsonl --model m",
        "ollama serve & sleep 5; ollama run llama3 hi",
        "/usr/sbin/sshd; mpirun -np 2 python train.py",
        "/usr/sbin/sshd -D & mpirun -np 2 python train.py",
        "timeout 4h jupyter lab",
        "gunicorn --check-config app:app",
    ],
)
def test_work_beside_a_server_ends(line: str) -> None:
    assert not serves(_shell(line))


def test_another_container_may_end_a_server() -> None:
    client = {"name": "client", "command": ["bash", "-c", "python bench.py; pkill vllm"]}
    server = {"name": "server", "command": ["vllm", "serve", "m"]}
    assert serves({"containers": [server, client]})
    assert not serves({"containers": [server, client], "shareProcessNamespace": True})


@pytest.mark.parametrize(
    "line",
    [
        "gpustat -i 60",
        "watch -n1 gpustat",
        "watch -n 5 'nvidia-smi | head -20'",
        "nvtop",
        "nvitop",
        "dcgmi dmon -e 155",
    ],
)
def test_a_command_that_shows_gpus_never_ends(line: str) -> None:
    assert never_ends(_shell(line))
    assert not never_ends(_shell(f"{line} & python train.py"))


@pytest.mark.parametrize("line", ["gpustat", "nvitop --once", "dcgmi dmon -e 155 -c 10"])
def test_a_command_that_shows_gpus_once_ends(line: str) -> None:
    assert not never_ends(_shell(line))


@pytest.mark.parametrize(
    ("line", "waits"),
    [
        ("while true; do python step.py; done; while true; do sleep 5; done", True),
        ("while true; do sleep 5; done; python train.py", True),
        ("while true; do python step.py; sleep 5; done", False),
        ("sleep 5; while true; do python step.py; done; sleep 5", False),
        ("while true; do echo 1; " * 20_000, False),  # its time grows with its length
    ],
)
def test_each_loop_is_read_by_itself(line: str, waits: bool) -> None:
    assert never_ends(_shell(line)) is waits
