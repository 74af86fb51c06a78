# shellcheck shell=sh disable=SC2174,SC3028
_gpu_logs=$1; shift
_gpu_log=$_gpu_logs/${JOB_COMPLETION_INDEX:-0}.log
# With MPS, pods of a node have one /dev/shm.
_gpu_pipe=/dev/shm/gpucluster-log-${HOSTNAME:-}
_gpu_again=
# Everybody may add a directory, as jobs run as different users.
mkdir -p -m 1777 "${_gpu_logs%/*}" 2>/dev/null
if ! { mkdir -p "$_gpu_logs" && : >> "$_gpu_log" && command -v tee >&2 && mkfifo "$_gpu_pipe"; } 2>/dev/null; then
  exec "$@"
fi
tee -a "$_gpu_log" < "$_gpu_pipe" &
_gpu_tee=$!
"$@" > "$_gpu_pipe" 2>&1 &
_gpu_program=$!
trap '_gpu_again=1; kill -TERM $_gpu_program' TERM
wait $_gpu_program; _gpu_code=$?
while [ -n "$_gpu_again" ]; do _gpu_again=; wait $_gpu_program; _gpu_code=$?; done
# A process that the program left behind may hold the pipe open.
( sleep 5; kill $_gpu_tee ) > /dev/null 2>&1 &
wait $_gpu_tee
rm -f "$_gpu_pipe"
exit $_gpu_code
