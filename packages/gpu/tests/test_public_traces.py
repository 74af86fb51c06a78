"""Published traces: excerpts in their formats, read as jobs."""

from __future__ import annotations

import pytest

from facts.jobs.public_traces import load_trace
from facts.jobs.trace import TraceError, TraceJob

# https://github.com/alibaba/clusterdata/blob/master/cluster-trace-gpu-v2020/README.md (columns, an example entry)
PAI = """4f057009a5d481acec67b088,tensorflow,1.0,Terminated,1739162.0,1739200.0,600.0,29.296875,50.0,MISC
job,worker,2.0,Failed,1739100.0,1739160.0,600.0,29.3,200.0,V100M32
job,ps,1.0,Terminated,1739100.0,1739160.0,600.0,29.3,,
job,worker,1.0,Running,1739100.0,,600.0,29.3,100.0,T4
"""
# https://github.com/alibaba/clusterdata/blob/master/cluster-trace-gpu-v2023/csv/openb_pod_list_default.csv
OPENB = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
openb-pod-0005,20000,65536,0,0,,LS,Running,2759674,12902960,2759676
openb-pod-0017,88000,327680,8,1000,,Burstable,Succeeded,9437497,10769854,9437497
openb-pod-0022,4000,15258,1,220,,BE,Running,9679175,9973826,9679175
openb-pod-0035,16000,32768,1,1000,V100M16|V100M32,LS,Running,9967058,9968575,9967063
openb-pod-0061,11908,47104,1,1000,,BE,Pending,10001278,10001403,
"""
# https://github.com/S-Lab-System-Group/HeliosData (README)
HELIOS = """job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
1425511,uXBbc,vcJkd,1,1,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:01,2020-06-10 04:55:09,36848,0
1425512,uVMrF,vchbv,16,64,2,FAILED,2020-06-09 18:41:27,2020-06-09 18:41:27,2020-06-09 18:45:36,249,0
1425513,uzqls,vcpDC,0,1,1,CANCELLED,2020-06-09 18:41:28,2020-06-09 18:41:28,2020-06-17 14:15:21,675233,0
1425514,uzqls,vcpDC,1,1,1,CANCELLED,2020-06-09 18:41:28,2020-06-09 18:41:28,2020-06-09 18:41:28,0,0
"""
# https://github.com/msr-fiddle/philly-traces (README; the second attempt is shorter here)
PHILLY = """[{"status": "Pass", "vc": "ee9e8c", "jobid": "application_1506638472019_14199", "attempts": [
 {"start_time": "2017-10-07 01:12:09", "end_time": "2017-10-07 01:13:23",
  "detail": [{"ip": "m47", "gpus": ["gpu0", "gpu1"]}]},
 {"start_time": "2017-10-07 01:13:30", "end_time": "2017-10-07 02:13:30",
  "detail": [{"ip": "m412", "gpus": ["gpu0", "gpu1"]}, {"ip": "m413", "gpus": ["gpu0", "gpu1"]}]}],
 "submitted_time": "2017-10-07 01:11:39", "user": "ce2f4c"},
 {"status": "Killed", "vc": "ee9e8c", "jobid": "a", "attempts": [],
  "submitted_time": "2017-10-07 01:11:39", "user": "u"},
 {"status": "Pass", "vc": "ee9e8c", "jobid": "b", "attempts": [{"start_time": "2017-10-07 01:12:09", "end_time": "None",
  "detail": []}], "submitted_time": "2017-10-07 01:11:39", "user": "u"}]
"""


PAI_JOBS = TraceJob(submit=0, duration=60, gpus=2, workers=2, gpu="v100-32gb"), TraceJob(submit=62, duration=38, gpus=1)
OPENB_JOBS = (
    TraceJob(submit=0, duration=1332357, gpus=8),
    TraceJob(submit=241678, duration=294651, gpus=1),
    TraceJob(submit=529561, duration=1512, gpus=1, gpu="v100"),
)
# GPUs of all nodes.
HELIOS_JOBS = (TraceJob(submit=0, duration=36848, gpus=1), TraceJob(submit=26, duration=249, gpus=8, workers=2))
# The attempts of a job add up.
PHILLY_JOBS = (TraceJob(submit=0, duration=74 + 3600, gpus=2, workers=2),)


@pytest.mark.parametrize(
    ("text", "format", "jobs"),
    [
        (PAI, "Alibaba 2020", PAI_JOBS),
        (OPENB, "Alibaba 2023", OPENB_JOBS),
        (HELIOS, "Helios", HELIOS_JOBS),
        (PHILLY, "Philly", PHILLY_JOBS),
    ],
)
def test_each_format_is_known_and_read(text: str, format: str, jobs: tuple[TraceJob, ...]) -> None:
    loaded = load_trace(text, "t")
    assert (loaded.format, loaded.left_out, loaded.jobs) == (format, 2, jobs)


def test_alibaba_2020_may_have_its_header() -> None:
    header = "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type\n"
    assert load_trace(header + PAI, "t") == load_trace(PAI, "t")


def test_other_files_are_read_as_the_own_format() -> None:
    loaded = load_trace("submit_seconds,gpus,duration_seconds\n5,1,1\n", "t")
    assert (loaded.format, loaded.jobs) == ("", (TraceJob(submit=5, duration=1),))


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        (
            OPENB.replace("294651", "x").replace("9973826", "later"),
            ["t:4: no entry of Alibaba 2023: could not convert"],
        ),
        (HELIOS + "1,2\n" + HELIOS.splitlines()[1].replace(",36848,", ",,"), ["t:6: no entry", "t:7: no entry"]),
        ('[{"status": "Pass"}]', ["t:1: no entry of Philly: 'attempts'"]),
        ("[{", ["t: no JSON: "]),
        (OPENB.splitlines()[0] + "\n", ["t: no jobs with GPUs, a start and an end"]),
    ],
)
def test_all_wrong_entries_are_listed(text: str, problems: list[str]) -> None:
    with pytest.raises(TraceError) as raised:
        load_trace(text, "t")
    assert len(raised.value.problems) == len(problems)
    assert all(map(str.startswith, raised.value.problems, problems))
