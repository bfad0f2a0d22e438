#!/usr/bin/env bash
# hosts.sh HOLDFAST: two hosts and the network between them. The bytes are those of one host, with vector instructions on
# one of them and without on the other too; no record crosses the network; a link that goes down and a rank that is
# stopped end the ranks with exit code 8 and the name of who is missing; a rank that is only slow does not.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$root/tests/support/script.sh"
source "$root/tests/support/namespaced_hosts.sh"
make_hosts
python3 -c '
import random
random.seed(5)
print("id,y," + ",".join(f"x{i}" for i in range(8)))
for i in range(3000):
    x = [random.randrange(1024) / 1024 for _ in range(8)]
    print(i + 7, int(x[0] + x[1] > 1), *x, sep=",")
' > records.csv
"$holdfast" import records.csv --id id --label y --scale "*=0:1" --expected-records 3000 --out records.h5 --quiet > /dev/null ||
    fail "cannot import"
train=("$holdfast" train --data records.h5 --set "network.hidden=[16,8]" --set certificate.levels=4 --set training.batches=2
       --set training.epochs=4 --set training.expected_records=3000 --set run.grid=1x1x4 --quiet)
digest() { grep -o '"digest": "[0-9a-f]*"' "$1/manifest.json"; }
"${train[@]}" --set run.grid=auto --out one > /dev/null || fail "on one host"

# 1. The same bytes; what goes over the cable is kept.
on_host 1 python3 -c '
import signal, socket, sys
cable = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
cable.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 26)
cable.bind(("cable", 0))
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
open("listening", "w").close()
with open("heard", "wb", buffering=0) as heard:
    while True: heard.write(cable.recv(1 << 17))
' &
listener=$!
await "somebody listens" test -e listening
hosts=10.77.0.1:2,10.77.0.2:2 on_hosts -n 4 "${train[@]}" --out two > words 2>&1 || fail "on two hosts: $(cat words)"
sleep 0.5
pkill -TERM -P $listener -f AF_PACKET || kill $listener
wait $listener 2> /dev/null
[ "$(digest two)" = "$(digest one)" ] || fail "two hosts give other bytes than one"
[ "$(stat -c %s heard)" -gt 20000 ] || fail "nothing was heard on the network"
# Of each record its eight numbers, in either precision.
crossed=$(python3 -c '
import csv, struct
heard = open("heard", "rb").read()
rows = [[float(cell) for cell in row[2:]] for row in list(csv.reader(open("records.csv")))[1:]]
print(sum(struct.pack("<8f", *row) in heard or struct.pack("<8d", *row) in heard for row in rows))
') || fail "what was heard cannot be read"
echo "$crossed of 3000 records crossed the network"
[ "$crossed" = 0 ] || fail "$crossed of 3000 records crossed the network"

# 2. Vector instructions on one host, plain loops on the other.
on_hosts -n 1 "${train[@]}" --set run.grid=1x1x2 --set run.backend=cpu --out mixed : \
    -n 1 "${train[@]}" --set run.grid=1x1x2 --set run.backend=reference --out mixed > words 2>&1 ||
    fail "two kinds of instructions: $(cat words)"
[ "$(digest mixed)" = "$(digest one)" ] || fail "two kinds of instructions give other bytes"

# 3. Lost, stopped, slow. Slow training: by plain loops, with checkpoints to see it by.
long=("${train[@]}" --set run.grid=1x1x2 --set run.backend=reference --set training.epochs=5000
      --set run.checkpoint_steps=1 --set run.stall_seconds=5)
under_way() { [ -n "$(ls -d "$1"/checkpoints/*/[0-9]* 2> /dev/null)" ]; }
ended() { ! kill -0 "$job" 2> /dev/null; }
no_rank_left() { [ -z "$(ranks_on 1)$(ranks_on 2)" ]; }
# expect_lost RUN WHO: all ranks have ended in their time, in words that name who is missing.
expect_lost() {
    await "no rank of $1 is left" no_rank_left
    grep -q "no rank got any further for 5 s, and no sign of life comes from $2" "$1.words" ||
        fail "$1 does not name $2: $(cat "$1.words")"
    [ "$(grep -c '^holdfast: ' "$1.words")" = 1 ] || fail "$1 says it more than once: $(cat "$1.words")"
    [ ! -e "$1/manifest.json" ] || fail "$1 left a finished run"
}

on_hosts -n 2 "${long[@]}" --out stopped > stopped.words 2>&1 &
job=$!
await "steps" under_way stopped
kill -STOP "$(ranks_on 2)"
expect_lost stopped "rank 1 (host2)"
await "the job ends" ended
code=0
wait $job || code=$?
[ $code -eq 8 ] || fail "a stopped rank ends the job with $code: $(cat stopped.words)"

# One host is done at once and waits, several times as long as a job may stand still, for the other, which computes.
heavy=("${train[@]}" --set run.grid=1x1x2 --set "network.hidden=[400,400]" --set training.batches=1 --set training.epochs=1
       --set certificate.levels=20 --set run.stall_seconds=2 --out slow)
SECONDS=0
on_hosts -n 1 "${heavy[@]}" --set run.backend=cpu : -n 1 "${heavy[@]}" --set run.backend=reference > words 2>&1 ||
    fail "a job that is only slow: $(cat words)"
[ $SECONDS -ge 5 ] || fail "the slow host was not slow: $SECONDS s"

on_hosts -n 2 "${long[@]}" --out unplugged > unplugged.words 2>&1 &
job=$!
await "steps" under_way unplugged
cable down
expect_lost unplugged "rank 1 (host2)"  # mpirun goes on waiting for the other host's, which is not ours to mend

[ $failures = 0 ] || exit 1
echo "two hosts, and the network between them"
